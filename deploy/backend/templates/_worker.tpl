{{/* A worker's pod: (list root worker). vLLM listens on the pod's loopback, so prompts never cross a network. */}}

{{- define "backend.workerPod" -}}
{{- $root := index . 0 -}}
{{- $worker := index . 1 -}}
{{- $several := gt (int ($worker.nodes | default 1)) 1 -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $worker.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with $root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- if $worker.podSecurityContext }}
  {{- toYaml $worker.podSecurityContext | nindent 2 }}
  {{- else }}
  # Secrets are mounted for a group only, which both containers are in.
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
  {{- end }}
terminationGracePeriodSeconds: {{ add (div (int (dig "drainMs" 30000 ($worker.flags | default dict))) 1000) 20 }}
initContainers:
  - {{- include "backend.vllm" (list $worker (ternary "leader" "alone" $several)) | nindent 4 }}
    # A native sidecar: it starts before the worker and ends after it.
    restartPolicy: Always
containers:
  - name: worker
    image: {{ include "backend.image" (list $root "worker") | quote }}
    imagePullPolicy: {{ $root.Values.images.pullPolicy }}
    args:
      {{- include "backend.workerArgs" . | nindent 6 }}
    env:
      - name: POD_IP
        valueFrom:
          fieldRef:
            fieldPath: status.podIP
      {{- with $worker.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    ports:
      - name: http
        containerPort: 8095
      {{- if $root.Values.workerMetrics.enabled }}
      - name: metrics
        containerPort: {{ int $root.Values.workerMetrics.port }}
      {{- end }}
    # The worker listens once the model server has answered: flags.engineWaitSeconds, and five minutes for its first checks.
    startupProbe:
      httpGet:
        path: /health
        port: http
      periodSeconds: 5
      failureThreshold: {{ div (add (int (dig "engineWaitSeconds" 0 ($worker.flags | default dict))) 300) 5 }}
    livenessProbe:
      httpGet:
        path: /health
        port: http
      periodSeconds: 10
    readinessProbe:
      httpGet:
        path: /health
        port: http
      periodSeconds: 5
    securityContext:
      {{- if $worker.securityContext }}
      {{- toYaml $worker.securityContext | nindent 6 }}
      {{- else }}
      runAsNonRoot: true
      runAsUser: 65532
      runAsGroup: 65532
      {{- include "backend.containerSecurity" $root | nindent 6 }}
      {{- end }}
    resources:
      {{- toYaml ($worker.workerResources | default (dict "requests" (dict "cpu" "500m" "memory" "256Mi"))) | nindent 6 }}
    volumeMounts:
      - name: register
        mountPath: /etc/privatemode/register
        readOnly: true
      {{- if include "backend.caSecret" $root }}
      - name: gateway-ca
        mountPath: /etc/privatemode/gateway-ca
        readOnly: true
      {{- end }}
      {{- if $worker.softwareIdentitySecret }}
      - name: identity
        mountPath: /etc/privatemode/identity
        readOnly: true
      {{- end }}
      {{- with dig "collateralFolder" "" ($worker.flags | default dict) }}
      - name: collateral
        mountPath: {{ . | quote }}
      {{- end }}
      {{- if $worker.mountTsm }}
      # Not below /sys: that is a sysfs of the container's own, in which no runtime can create a mount point.
      - name: tsm
        mountPath: /run/tsm
      {{- end }}
volumes:
  {{- include "backend.secretVolume" (list "register" $root.Values.operator.secretName "registerToken") | nindent 2 }}
  {{- with include "backend.caSecret" $root }}
  {{- include "backend.secretVolume" (list "gateway-ca" . "ca.crt") | nindent 2 }}
  {{- end }}
  {{- with $worker.softwareIdentitySecret }}
  {{- include "backend.secretVolume" (list "identity" . "identity.json") | nindent 2 }}
  {{- end }}
  {{- if $worker.mountTsm }}
  - name: tsm
    hostPath:
      path: /sys/kernel/config/tsm
      type: Directory
  {{- end }}
  {{- if dig "collateralFolder" "" ($worker.flags | default dict) }}
  # It outlives the worker's container, not its pod.
  - name: collateral
    emptyDir:
      sizeLimit: 64Mi
  {{- end }}
  {{- include "backend.vllmVolumes" $worker | nindent 2 }}
{{- include "backend.scheduling" $worker }}
{{- end -}}

{{- define "backend.workerArgs" -}}
{{- $root := index . 0 -}}
{{- $worker := index . 1 -}}
- '--host=0.0.0.0'
- '--port=8095'
- '--publicUrl=http://$(POD_IP):8095'
- '--gatewayUrl={{ include "backend.gatewayUrl" $root }}'
{{- if not $root.Values.gateway.tls.enabled }}
- '--allowPlainGateway'
{{- else if include "backend.caSecret" $root }}
- '--gatewayCaPath=/etc/privatemode/gateway-ca/ca.crt'
{{- end }}
- '--registerToken=@/etc/privatemode/register/registerToken'
- '--engineUrl=http://127.0.0.1:8000'
- '--logFormat=json'
{{- if $root.Values.workerMetrics.enabled }}
- '--metricsPort={{ int $root.Values.workerMetrics.port }}'
{{- end }}
{{- if $worker.softwareIdentitySecret }}
- '--softwareIdentity=/etc/privatemode/identity/identity.json'
{{- end }}
{{- if $worker.mountTsm }}
- '--tsmPath=/run/tsm/report'
{{- end }}
{{- if $worker.attestGpus }}
- '--gpus={{ int (dig "gpus" 1 $worker) }}'
{{- end }}
{{- range $flag, $value := $worker.flags }}
- '--{{ $flag }}={{ if kindIs "float64" $value }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}'
{{- end }}
{{- end -}}

{{- define "backend.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
