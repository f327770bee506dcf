{{/* vLLM's container: (list worker role), where role is alone, leader or follower. */}}

{{- define "backend.vllm" -}}
{{- $worker := index . 0 -}}
{{- $role := index . 1 -}}
{{- $gpus := int (dig "gpus" 1 $worker) }}
name: vllm
image: {{ $worker.vllmImage | quote }}
{{- if eq $role "alone" }}
command: [vllm, serve]
{{- else if eq $role "leader" }}
# vLLM's own script starts Ray's head and waits until every node has joined.
command:
  - sh
  - -c
  - bash {{ $worker.multiNodeScript | default "/vllm-workspace/examples/online_serving/multi-node-serving.sh" }} leader --ray_cluster_size="$LWS_GROUP_SIZE" && exec vllm serve "$@"
  - vllm
{{- else }}
command:
  - sh
  - -c
  - exec bash {{ $worker.multiNodeScript | default "/vllm-workspace/examples/online_serving/multi-node-serving.sh" }} worker --ray_address="$LWS_LEADER_ADDRESS"
{{- end }}
{{- if ne $role "follower" }}
args:
  - {{ $worker.model | quote }}
  - --host=127.0.0.1
  - --port=8000
  - --served-model-name={{ $worker.servedName }}
  {{- if gt $gpus 0 }}
  - --tensor-parallel-size={{ $gpus }}
  {{- end }}
  {{- if eq $role "leader" }}
  - --pipeline-parallel-size={{ int $worker.nodes }}
  - --distributed-executor-backend=ray
  {{- end }}
  # The worker proves at its start that salted prompt caches are kept apart, from these counts.
  - --enable-prompt-tokens-details
  {{- with $worker.vllmArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
# On loopback, so the probe has to come from inside.
startupProbe:
  exec:
    command: [python3, -c, "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=5)"]
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 360
{{- end }}
env:
  - name: HF_HUB_OFFLINE
    value: '1'
  - name: VLLM_NO_USAGE_STATS
    value: '1'
  - name: DO_NOT_TRACK
    value: '1'
  # The user below has no entry in the image's /etc/passwd, where Python would look for a name and a home.
  - name: HOME
    value: /tmp
  - name: USER
    value: vllm
securityContext:
  {{- if $worker.vllmSecurityContext }}
  {{- toYaml $worker.vllmSecurityContext | nindent 2 }}
  {{- else }}
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  allowPrivilegeEscalation: false
  privileged: false
  capabilities:
    drop: [ALL]
  {{- end }}
resources:
  {{- $resources := deepCopy ($worker.vllmResources | default dict) }}
  {{- if gt $gpus 0 }}
  {{- $resources = merge $resources (dict "limits" (dict ($worker.gpuResource | default "nvidia.com/gpu") $gpus)) }}
  {{- end }}
  {{- toYaml $resources | nindent 2 }}
volumeMounts:
  - name: shm
    mountPath: /dev/shm
  {{- if $worker.modelVolumeClaimName }}
  - name: models
    mountPath: /models
    readOnly: true
  {{- end }}
{{- end -}}

{{- define "backend.vllmVolumes" -}}
- name: shm
  emptyDir:
    medium: Memory
    sizeLimit: {{ .sharedMemory | default "8Gi" }}
{{- with .modelVolumeClaimName }}
- name: models
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- end -}}
