{{/* Contradictions are refused here, where they can be read. */}}

{{- define "backend.check" -}}
{{- $values := .Values -}}
{{- $_ := required "set database.secretName: a secret with the key databaseUrl" $values.database.secretName -}}
{{- $_ := required "set operator.secretName: a secret with the keys adminToken and registerToken" $values.operator.secretName -}}
{{- if and $values.gateway.tls.enabled (not $values.gateway.tls.secretName) -}}
{{- fail "gateway.tls.enabled needs gateway.tls.secretName: a secret of type kubernetes.io/tls" -}}
{{- end -}}
{{- if and $values.gateway.tls.caSecretName (not $values.gateway.tls.enabled) -}}
{{- fail "gateway.tls.caSecretName has no effect without gateway.tls.enabled" -}}
{{- end -}}
{{- $oidc := $values.gateway.oidc -}}
{{- if $oidc.issuer -}}
{{- if not (and $oidc.clientId $oidc.secretName) -}}
{{- fail "gateway.oidc.issuer needs gateway.oidc.clientId and gateway.oidc.secretName" -}}
{{- end -}}
{{- if not $values.gateway.publicUrl -}}
{{- fail "gateway.oidc.issuer needs gateway.publicUrl to come back to" -}}
{{- end -}}
{{- else if or $oidc.clientId $oidc.secretName -}}
{{- fail "gateway.oidc.clientId and .secretName have no effect without gateway.oidc.issuer" -}}
{{- end -}}
{{- if and $values.monitoring.serviceMonitors (not $values.gateway.metrics.enabled) -}}
{{- fail "monitoring.serviceMonitors needs gateway.metrics.enabled: there would be nothing to read" -}}
{{- end -}}
{{- if and $values.monitoring.from (not (and $values.monitoring.serviceMonitors $values.workerMetrics.enabled)) -}}
{{- fail "monitoring.from has no effect without monitoring.serviceMonitors and workerMetrics.enabled" -}}
{{- end -}}
{{- $refresh := $values.manifestRefresh -}}
{{- if and (or $refresh.volumeClaimName $refresh.witnessSecretName) (not $refresh.secretName) -}}
{{- fail "manifestRefresh.volumeClaimName and .witnessSecretName have no effect without manifestRefresh.secretName" -}}
{{- end -}}
{{- $names := dict -}}
{{- range $values.workers -}}
{{- if hasKey $names .name -}}
{{- fail (printf "two workers are called %s" .name) -}}
{{- end -}}
{{- $_ := set $names .name true -}}
{{- include "backend.checkWorker" . -}}
{{- end -}}
{{- end -}}

{{- define "backend.checkWorker" -}}
{{- if and (gt (int (.nodes | default 1)) 1) (not .acceptUnattestedNodes) -}}
{{- fail (printf "worker %s spans several nodes, and clients verify the first one only: put all of them and the network between them inside the boundary you trust, then set acceptUnattestedNodes" .name) -}}
{{- end -}}
{{- if and .attestGpus (lt (int (dig "gpus" 1 .)) 1) -}}
{{- fail (printf "worker %s has no GPU to attest" .name) -}}
{{- end -}}
{{- if and .softwareIdentitySecret (or .attestGpus .mountTsm) -}}
{{- fail (printf "worker %s attests in software or with hardware, not both" .name) -}}
{{- end -}}
{{- end -}}
