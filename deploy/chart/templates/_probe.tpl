{{/* One probe: (list root probe). */}}
{{- define "proxy.probe" -}}
{{- $root := index . 0 -}}
{{- $probe := index . 1 -}}
httpGet:
  path: {{ $probe.path }}
  port: {{ include "proxy.scheme" $root }}
  scheme: {{ include "proxy.scheme" $root | upper }}
initialDelaySeconds: {{ $probe.initialDelaySeconds }}
periodSeconds: {{ $probe.periodSeconds }}
timeoutSeconds: {{ $probe.timeoutSeconds }}
failureThreshold: {{ $probe.failureThreshold }}
{{- end -}}
