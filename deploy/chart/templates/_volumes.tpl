{{/* What is mounted, and where. Secrets are files, never environment: those show in a pod's description. */}}

{{- define "proxy.mounts" -}}
{{- $config := .Values.config -}}
- name: workspace
  mountPath: /workspace
- name: tmp
  mountPath: /tmp
{{- if $config.apiKey.enabled }}
- name: api-key
  mountPath: /etc/privatemode/api-key
  readOnly: true
{{- end }}
{{- if $config.manifest.enabled }}
- name: manifest
  mountPath: {{ $config.manifest.mountPath }}
  readOnly: true
{{- end }}
{{- if $config.promptCacheSalt.enabled }}
- name: prompt-cache-salt
  mountPath: /etc/privatemode/prompt-cache-salt
  readOnly: true
{{- end }}
{{- if $config.tls.enabled }}
- name: tls
  mountPath: /etc/privatemode/tls
  readOnly: true
{{- end }}
{{- if $config.customCA.enabled }}
- name: custom-ca
  mountPath: /etc/privatemode/custom-ca
  readOnly: true
{{- end }}
{{- if $config.hosted.enabled }}
- name: hosted-salt
  mountPath: /etc/privatemode/hosted-salt
  readOnly: true
{{- if $config.hosted.deploymentManifest.configMapName }}
- name: deployment
  mountPath: /etc/privatemode/deployment
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{- define "proxy.volumes" -}}
{{- $config := .Values.config -}}
- name: workspace
  {{- if $config.workspace.enabled }}
  persistentVolumeClaim:
    claimName: {{ $config.workspace.volumeClaimName }}
  {{- else }}
  emptyDir: {}
  {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- if $config.apiKey.enabled }}
{{ include "proxy.secretVolume" (dict "name" "api-key" "secret" $config.apiKey.secretName "key" "apiKey") }}
{{- end }}
{{- if $config.manifest.enabled }}
- name: manifest
  configMap:
    name: {{ $config.manifest.configMapName }}
{{- end }}
{{- if $config.promptCacheSalt.enabled }}
{{ include "proxy.secretVolume" (dict "name" "prompt-cache-salt" "secret" $config.promptCacheSalt.secretName "key" "promptCacheSalt") }}
{{- end }}
{{- if $config.tls.enabled }}
- name: tls
  secret:
    secretName: {{ $config.tls.secretName }}
    defaultMode: 288 # 0440
{{- end }}
{{- if $config.customCA.enabled }}
{{ include "proxy.secretVolume" (dict "name" "custom-ca" "secret" $config.customCA.secretName "key" $config.customCA.fileName) }}
{{- end }}
{{- if $config.hosted.enabled }}
{{ include "proxy.secretVolume" (dict "name" "hosted-salt" "secret" $config.hosted.saltSecretName "key" "hostedSaltSecret") }}
{{- with $config.hosted.deploymentManifest.configMapName }}
- name: deployment
  configMap:
    name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* One key of a secret as one file. */}}
{{- define "proxy.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 288 # 0440
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- end -}}
