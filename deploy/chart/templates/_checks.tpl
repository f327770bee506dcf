{{/* Contradictions that the proxy would refuse at its start are refused here, where they can be read. */}}

{{- define "proxy.check" -}}
{{- $config := .Values.config -}}
{{- $_ := required "no service is built in: set config.apiEndpoint to host:port of yours" $config.apiEndpoint -}}
{{- range $name := list "apiEndpoint" "manifestEndpoint" -}}
{{- $endpoint := index $config $name -}}
{{- if regexMatch "^http://" $endpoint -}}
{{- if not (regexMatch "^http://(localhost|127\\.[0-9.]+|\\[::1\\])(:[0-9]+)?(/|$)" $endpoint) -}}
{{- fail (printf "config.%s is %s, plain http to another machine, which the proxy refuses: write host:port, which is HTTPS, and give the gateway TLS" $name $endpoint) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $config.apiKey.enabled (not $config.apiKey.secretName) -}}
{{- fail "config.apiKey.enabled needs config.apiKey.secretName: a secret with the key apiKey" -}}
{{- end -}}
{{- if $config.manifest.enabled -}}
{{- $_ := required "config.manifest.enabled needs config.manifest.configMapName" $config.manifest.configMapName -}}
{{- if or $config.manifestEndpoint $config.manifestLogKey -}}
{{- fail "config.manifest and config.manifestEndpoint or config.manifestLogKey name two sources of the manifest; keep one" -}}
{{- end -}}
{{- else if not $config.manifestLogKey -}}
{{- fail "set config.manifestLogKey to the public key of the manifest log, or config.manifest.enabled with a config map" -}}
{{- end -}}
{{- if $config.promptCacheSalt.enabled -}}
{{- $_ := required "config.promptCacheSalt.enabled needs config.promptCacheSalt.secretName: a secret with the key promptCacheSalt" $config.promptCacheSalt.secretName -}}
{{- if not $config.sharedPromptCache.enabled -}}
{{- fail "config.promptCacheSalt.enabled requires config.sharedPromptCache.enabled" -}}
{{- end -}}
{{- end -}}
{{- if $config.workspace.enabled -}}
{{- $_ := required "config.workspace.enabled needs config.workspace.volumeClaimName" $config.workspace.volumeClaimName -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}
{{- fail "config.workspace keeps the record of one proxy: set replicaCount to 1 and autoscaling.enabled to false, or leave the claim out" -}}
{{- end -}}
{{- end -}}
{{- if and $config.tls.enabled (not $config.tls.secretName) -}}
{{- fail "config.tls.enabled needs config.tls.secretName: a secret of type kubernetes.io/tls" -}}
{{- end -}}
{{- if and $config.customCA.enabled (not $config.customCA.secretName) -}}
{{- fail "config.customCA.enabled needs config.customCA.secretName" -}}
{{- end -}}
{{- if ne $config.softwareAttestation.enabled (ne $config.softwareAttestation.rootFingerprint "") -}}
{{- fail "config.softwareAttestation needs both enabled and rootFingerprint, or neither" -}}
{{- end -}}
{{- if $config.manifest.enabled -}}
{{- $path := trimSuffix "/" $config.manifest.mountPath -}}
{{- $taken := list "/workspace" "/tmp" "/etc/privatemode/api-key" "/etc/privatemode/prompt-cache-salt" "/etc/privatemode/tls" "/etc/privatemode/custom-ca" "/etc/privatemode/hosted-salt" "/etc/privatemode/deployment" -}}
{{- if has $path $taken -}}
{{- fail (printf "config.manifest.mountPath is %s, where the chart mounts something else; choose another folder" $path) -}}
{{- end -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas is %d, more than autoscaling.maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- include "proxy.checkHosted" . -}}
{{- if and .Values.serviceMonitor.enabled (not $config.metrics) -}}
{{- fail "serviceMonitor.enabled needs config.metrics: there would be nothing to read" -}}
{{- end -}}
{{- end -}}

{{- define "proxy.checkHosted" -}}
{{- $config := .Values.config -}}
{{- $hosted := $config.hosted -}}
{{- if $hosted.enabled -}}
{{- $_ := required "config.hosted.enabled needs config.hosted.saltSecretName: a secret with the key hostedSaltSecret" $hosted.saltSecretName -}}
{{- if not $config.tls.enabled -}}
{{- fail "config.hosted serves HTTPS only: set config.tls" -}}
{{- end -}}
{{- if $config.apiKey.enabled -}}
{{- fail "config.hosted serves each request under its own key: set config.apiKey.enabled to false" -}}
{{- end -}}
{{- if or $config.sharedPromptCache.enabled $config.promptCacheSalt.enabled -}}
{{- fail "config.hosted keeps one cache per API key: leave config.sharedPromptCache and config.promptCacheSalt out" -}}
{{- end -}}
{{- if $config.dumpRequests -}}
{{- fail "config.dumpRequests would write other people's prompts to disk: leave it out with config.hosted" -}}
{{- end -}}
{{- if $config.allowedHosts -}}
{{- fail "config.hosted answers under every name: leave config.allowedHosts out" -}}
{{- end -}}
{{- else if or $hosted.saltSecretName $hosted.deploymentManifest.configMapName -}}
{{- fail "config.hosted.saltSecretName and .deploymentManifest are for config.hosted.enabled" -}}
{{- end -}}
{{- end -}}
