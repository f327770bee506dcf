{{/* The pod that writes the manifest log: (list root publishes). Nothing else has the log's key. */}}
{{- define "backend.logWriter" -}}
{{- $root := index . 0 -}}
{{- $publishes := index . 1 -}}
{{- $refresh := $root.Values.manifestRefresh -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "backend.podSecurity" $root | nindent 2 }}
containers:
  - name: {{ ternary "publish" "refresh" $publishes }}
    image: {{ include "backend.image" (list $root "verify") | quote }}
    imagePullPolicy: {{ $root.Values.images.pullPolicy }}
    args:
      - manifest
      - publish
      - {{ ternary "/etc/privatemode/manifest/manifest.json" "--refresh" $publishes | squote }}
      - '--log=/manifest-log'
      - '--key=/etc/privatemode/log-key/logKey'
      {{- if $refresh.witnessSecretName }}
      - '--witness-key=/etc/privatemode/witness-key/witnessKey'
      {{- end }}
    securityContext:
      {{- include "backend.containerSecurity" $root | nindent 6 }}
    resources:
      {{- toYaml $refresh.resources | nindent 6 }}
    volumeMounts:
      - name: manifest-log
        mountPath: /manifest-log
      - name: log-key
        mountPath: /etc/privatemode/log-key
        readOnly: true
      {{- if $publishes }}
      - name: manifest
        mountPath: /etc/privatemode/manifest
        readOnly: true
      {{- end }}
      {{- if $refresh.witnessSecretName }}
      - name: witness-key
        mountPath: /etc/privatemode/witness-key
        readOnly: true
      {{- end }}
volumes:
  - name: manifest-log
    persistentVolumeClaim:
      claimName: {{ required "manifestRefresh.secretName needs manifestRefresh.volumeClaimName: the claim with the log" $refresh.volumeClaimName }}
  {{- include "backend.secretVolume" (list "log-key" $refresh.secretName "logKey") | nindent 2 }}
  {{- if $publishes }}
  - name: manifest
    configMap:
      name: {{ $refresh.manifestConfigMapName }}
  {{- end }}
  {{- with $refresh.witnessSecretName }}
  {{- include "backend.secretVolume" (list "witness-key" . "witnessKey") | nindent 2 }}
  {{- end }}
{{- end -}}
