{{/* Names, labels, images and settings that all parts share. */}}

{{/* (list root part): privatemode-{part}-{release} */}}
{{- define "backend.name" -}}
{{- $root := index . 0 -}}
{{- $name := printf "privatemode-%s-%s" (index . 1) $root.Release.Name -}}
{{- if gt (len $name) 63 -}}
{{- fail (printf "%s is longer than 63 characters; choose shorter names for the release and the workers" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "backend.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "backend.labels" -}}
{{- $root := index . 0 -}}
{{ include "backend.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: privatemode
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "backend.image" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $repository := required (printf "no registry is built in: set images.%s" $part) (index $root.Values.images $part) -}}
{{- if contains "@sha256:" $repository -}}
{{- $repository -}}
{{- else -}}
{{- printf "%s:%s" $repository ($root.Values.images.tag | default $root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* A helm that is not told the version of a cluster renders for 1.20, which nobody means. */}}
{{- define "backend.kubeVersion" -}}
{{- ternary "v1.30.0" .Capabilities.KubeVersion.Version (eq .Capabilities.KubeVersion.Version "v1.20.0") -}}
{{- end -}}

{{- define "backend.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "backend.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* (list name secret key): one key of a secret as one file. */}}
{{- define "backend.secretVolume" -}}
- name: {{ index . 0 }}
  secret:
    secretName: {{ index . 1 }}
    defaultMode: 288 # 0440
    items:
      - key: {{ index . 2 }}
        path: {{ index . 2 }}
{{- end -}}

{{- define "backend.scheme" -}}
{{- if .Values.gateway.tls.enabled }}https{{ else }}http{{ end -}}
{{- end -}}

{{/* The secret with the authority that signed the gateway's certificate; empty without TLS, or where a public one did. */}}
{{- define "backend.caSecret" -}}
{{- if .Values.gateway.tls.enabled }}{{ .Values.gateway.tls.caSecretName }}{{ end -}}
{{- end -}}

{{- define "backend.gatewayUrl" -}}
{{ include "backend.scheme" . }}://{{ include "backend.name" (list . "gateway") }}.{{ .Release.Namespace }}.svc.cluster.local:{{ int .Values.gateway.service.port }}
{{- end -}}

{{- define "backend.egressToNames" -}}
- ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - protocol: UDP
      port: {{ . }}
    - protocol: TCP
      port: {{ . }}
    {{- end }}
{{- end -}}

{{/* (list root ports): to any address outside, on these ports, which are separated by spaces. */}}
{{- define "backend.egressToPorts" -}}
{{- $root := index . 0 -}}
- ports:
    {{- range (index . 1 | splitList " " | uniq) }}
    - protocol: TCP
      port: {{ . }}
    {{- end }}
  to:
    {{- range $root.Values.networkPolicy.egressCIDRs }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
{{- end -}}

{{/* Ports of the identity provider, and of what the gateway's environment names; empty without any. */}}
{{- define "backend.gatewayPorts" -}}
{{- $ports := include "backend.envPorts" .Values.gateway.extraEnv | fromJsonArray -}}
{{- with .Values.gateway.oidc.issuer -}}
{{- $ports = prepend $ports (include "backend.portOf" .) -}}
{{- end -}}
{{- join " " $ports -}}
{{- end -}}

{{/* Ports of the vendors' services, or of mirrors in their place, and of what a worker's environment names. */}}
{{- define "backend.workerPorts" -}}
{{- $ports := list "443" -}}
{{- range $flag, $value := .flags -}}
{{- if has $flag (list "amdKdsUrl" "intelPcsUrl" "intelRootCrlUrl" "nvidiaRimUrl" "nvidiaOcspUrl") -}}
{{- $ports = append $ports (include "backend.portOf" $value) -}}
{{- end -}}
{{- end -}}
{{- join " " (concat $ports (include "backend.envPorts" .extraEnv | fromJsonArray)) -}}
{{- end -}}

{{/* Ports of an https_proxy and of a collector of traces. */}}
{{- define "backend.envPorts" -}}
{{- $ports := list -}}
{{- range . -}}
{{- if and (has (lower .name) (list "https_proxy" "otel_exporter_otlp_endpoint" "otel_exporter_otlp_traces_endpoint")) .value -}}
{{- $ports = append $ports (include "backend.portOf" (ternary .value (printf "http://%s" .value) (contains "://" .value))) -}}
{{- end -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{/* The port of a URL; where none is written, 80 with http, otherwise 443. */}}
{{- define "backend.portOf" -}}
{{- $authority := regexReplaceAll "^[a-z]+://([^/]*@)?" . "" | regexFind "^[^/?#]*" -}}
{{- $port := regexFind ":[0-9]+$" $authority | trimPrefix ":" -}}
{{- $port | default (ternary "80" "443" (hasPrefix "http://" .)) -}}
{{- end -}}
