{{/* The proxy's command line: one line per flag, in the order of its --help. */}}

{{- define "proxy.args" -}}
{{- $config := .Values.config -}}
- '--apiEndpoint={{ $config.apiEndpoint }}'
{{- if $config.apiKey.enabled }}
- '--apiKey=@/etc/privatemode/api-key/apiKey'
{{- end }}
{{- if $config.dumpRequests }}
- '--dumpRequests'
{{- end }}
- '--log-format={{ $config.logFormat }}'
- '--log-level={{ $config.logLevel }}'
{{- if $config.manifest.enabled }}
- '--manifestPath={{ trimSuffix "/" $config.manifest.mountPath }}/{{ $config.manifest.fileName }}'
{{- end }}
- '--vendorOCSPAllowUnknown={{ $config.vendorOCSPAllowUnknown }}'
- '--vendorOCSPRevokedGracePeriod={{ int $config.vendorOCSPRevokedGracePeriod }}'
- '--port={{ int $config.port }}'
{{- if $config.promptCacheSalt.enabled }}
- '--promptCacheSalt=@/etc/privatemode/prompt-cache-salt/promptCacheSalt'
{{- end }}
{{- if $config.sharedPromptCache.enabled }}
- '--sharedPromptCache'
{{- end }}
{{- if $config.tls.enabled }}
- '--tlsCertPath=/etc/privatemode/tls/tls.crt'
- '--tlsKeyPath=/etc/privatemode/tls/tls.key'
{{- end }}
- '--workspace=/workspace'
- '--listenAddress={{ $config.listenAddress }}'
{{- with $config.allowedHosts }}
- '--allowedHosts={{ join "," . }}'
{{- end }}
{{- with $config.manifestEndpoint }}
- '--manifestEndpoint={{ . }}'
{{- end }}
{{- with $config.manifestLogKey }}
- {{ printf "--manifestLogKey=%s" . | toJson }}
{{- end }}
{{- if ne (int $config.manifestMaxAgeHours) 72 }}
- '--manifestMaxAgeHours={{ int $config.manifestMaxAgeHours }}'
{{- end }}
- '--trafficShape={{ $config.trafficShape }}'
{{- if ne (int $config.workers) 1 }}
- '--workers={{ int $config.workers }}'
{{- end }}
- '--bodyLimitMib={{ int $config.bodyLimitMib }}'
{{- with $config.answerSilenceSeconds }}
- '--answerSilenceSeconds={{ int . }}'
{{- end }}
{{- with $config.answerLimitMinutes }}
- '--answerLimitMinutes={{ int . }}'
{{- end }}
- '--drainSeconds={{ int $config.drainSeconds }}'
{{- if $config.receipts }}
- '--receipts=/workspace/receipts.jsonl'
{{- end }}
{{- if $config.metrics }}
- '--metrics'
{{- end }}
{{- if $config.cacheCheckMinutes }}
- '--cacheCheckMinutes={{ int $config.cacheCheckMinutes }}'
{{- end }}
{{- if $config.softwareAttestation.enabled }}
- '--allowSoftwareAttestation'
- '--softwareRootFingerprint={{ $config.softwareAttestation.rootFingerprint }}'
{{- end }}
{{- if $config.hosted.enabled }}
- '--hosted'
- '--hostedSaltSecret=@/etc/privatemode/hosted-salt/hostedSaltSecret'
{{- with $config.hosted.deploymentManifest }}
{{- if .configMapName }}
- '--hostedManifestPath=/etc/privatemode/deployment/{{ .fileName }}'
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
