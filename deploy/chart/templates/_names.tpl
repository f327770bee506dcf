{{/* Names and labels of every object. */}}

{{- define "proxy.name" -}}
{{- $name := .Values.fullnameOverride | default (printf "privatemode-proxy-%s" .Release.Name) -}}
{{- if gt (len $name) 63 -}}
{{- fail (printf "the service would be called %s, which is longer than 63 characters; choose a release name of at most 45" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "proxy.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "proxy.labels" -}}
{{ include "proxy.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: privatemode
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "proxy.serviceAccount" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "proxy.name" . -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "proxy.image" -}}
{{- $repository := required "no registry is built in: set image.repository to where the proxy's image is" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "proxy.scheme" -}}
{{- if .Values.config.tls.enabled }}https{{ else }}http{{ end -}}
{{- end -}}
