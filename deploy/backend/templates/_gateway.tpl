{{/* The gateway's command line and what it mounts. */}}

{{- define "backend.gatewayArgs" -}}
{{- $gateway := .Values.gateway -}}
- '--port={{ int $gateway.port }}'
- '--host=0.0.0.0'
- '--databaseUrl=@/etc/privatemode/database/databaseUrl'
- '--databaseConnections={{ int .Values.database.connections }}'
- '--adminToken=@/etc/privatemode/operator/adminToken'
- '--registerToken=@/etc/privatemode/register/registerToken'
- '--logFormat={{ $gateway.logFormat }}'
- '--logLevel={{ $gateway.logLevel }}'
{{- with $gateway.publicUrl }}
- '--publicUrl={{ . }}'
{{- end }}
{{- if $gateway.tls.enabled }}
- '--tlsCertPath=/etc/privatemode/tls/tls.crt'
- '--tlsKeyPath=/etc/privatemode/tls/tls.key'
{{- end }}
{{- if $gateway.oidc.issuer }}
- '--oidcIssuer={{ $gateway.oidc.issuer }}'
- '--oidcClientId={{ $gateway.oidc.clientId }}'
- '--oidcClientSecret=@/etc/privatemode/oidc/clientSecret'
{{- end }}
{{- if $gateway.manifestLog.volumeClaimName }}
- '--logDir=/etc/privatemode/manifest-log'
{{- end }}
{{- if $gateway.portal.enabled }}
- '--portalDir=/usr/share/privatemode/portal'
{{- end }}
{{- if $gateway.metrics.enabled }}
- '--metrics'
{{- if $gateway.metrics.tokenSecretName }}
- '--metricsToken=@/etc/privatemode/metrics/metricsToken'
{{- end }}
{{- end }}
{{- range $flag, $value := $gateway.limits }}
- '--{{ $flag }}={{ int64 $value }}'
{{- end }}
{{- end -}}

{{- define "backend.gatewayMounts" -}}
{{- $gateway := .Values.gateway -}}
{{- $mounts := list -}}
{{- if $gateway.tls.enabled }}{{ $mounts = append $mounts "tls" }}{{ end -}}
{{- if include "backend.caSecret" . }}{{ $mounts = append $mounts "gateway-ca" }}{{ end -}}
{{- if $gateway.oidc.secretName }}{{ $mounts = append $mounts "oidc" }}{{ end -}}
{{- if $gateway.metrics.tokenSecretName }}{{ $mounts = append $mounts "metrics" }}{{ end -}}
{{- if $gateway.manifestLog.volumeClaimName }}{{ $mounts = append $mounts "manifest-log" }}{{ end -}}
{{- toYaml $mounts -}}
{{- end -}}

{{/* What the pages cannot know by themselves. */}}
{{- define "backend.portalConfig" -}}
{{- $portal := .Values.gateway.portal -}}
{{- $config := dict "version" 1 -}}
{{- with $portal.manifestLogKey }}{{ $_ := set $config "manifest_log_key" . }}{{ end -}}
{{- with $portal.proxylessUrl }}{{ $_ := set $config "proxyless_url" . }}{{ end -}}
{{- with $portal.softwareRoot }}{{ $_ := set $config "software_root" . }}{{ end -}}
{{- toJson $config -}}
{{- end -}}
