{{/* Contradictions are refused here, where they can be read. */}}

{{- define "backend.check" -}}
{{- $values := .Values -}}
{{- if semverCompare "<1.29.0-0" (include "backend.kubeVersion" .) -}}
{{- fail (printf "Kubernetes 1.29 or later is needed, this is %s: vLLM runs as a native sidecar, which outlives the worker that drains" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- $_ := required "set database.secretName: a secret with the key databaseUrl" $values.database.secretName -}}
{{- $_ := required "set operator.secretName: a secret with the keys adminToken and registerToken" $values.operator.secretName -}}
{{- if and $values.gateway.tls.enabled (not $values.gateway.tls.secretName) -}}
{{- fail "gateway.tls.enabled needs gateway.tls.secretName: a secret of type kubernetes.io/tls" -}}
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
{{- with $values.gateway.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "gateway.autoscaling.minReplicas is %d, more than gateway.autoscaling.maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if and $values.workerMetrics.enabled (has (int $values.workerMetrics.port) (list 8095 8000)) -}}
{{- fail (printf "workerMetrics.port is %d, which is taken in a worker's pod: the worker listens on 8095, vLLM on 8000" (int $values.workerMetrics.port)) -}}
{{- end -}}
{{- $isScraped := $values.monitoring.serviceMonitors -}}
{{- range $values.workers -}}
{{- if .autoscaling -}}
{{- $isScraped = true -}}
{{- if not $values.workerMetrics.enabled -}}
{{- fail (printf "worker %s scales by what Prometheus reads from the workers: autoscaling needs workerMetrics.enabled" .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $values.monitoring.from (not (and $isScraped $values.workerMetrics.enabled)) -}}
{{- fail "monitoring.from has no effect without workerMetrics.enabled and monitoring.serviceMonitors, or autoscaling of a worker" -}}
{{- end -}}
{{- $refresh := $values.manifestRefresh -}}
{{- if and (or $refresh.volumeClaimName $refresh.witnessSecretName $refresh.manifestConfigMapName) (not $refresh.secretName) -}}
{{- fail "manifestRefresh.volumeClaimName, .witnessSecretName and .manifestConfigMapName have no effect without manifestRefresh.secretName" -}}
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
{{- if and .autoscaling (gt (int (.nodes | default 1)) 1) -}}
{{- fail (printf "worker %s spans several nodes; autoscaling is for workers of one pod" .name) -}}
{{- end -}}
{{- if and .autoscaling (hasKey . "replicas") -}}
{{- fail (printf "worker %s has both replicas and autoscaling; keep one" .name) -}}
{{- end -}}
{{- with .autoscaling -}}
{{- if gt (int (.minReplicas | default 1)) (int .maxReplicas) -}}
{{- fail (printf "worker %s has autoscaling.minReplicas %d, more than its maxReplicas, %d" $.name (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if and .attestGpus (lt (int (dig "gpus" 1 .)) 1) -}}
{{- fail (printf "worker %s has no GPU to attest" .name) -}}
{{- end -}}
{{- if and .mountTsm (dig "tsmPath" "" (.flags | default dict)) -}}
{{- fail (printf "worker %s has both mountTsm, which mounts the reports at /run/tsm, and flags.tsmPath; keep one" .name) -}}
{{- end -}}
{{- if and .softwareIdentitySecret (or .attestGpus .mountTsm) -}}
{{- fail (printf "worker %s attests in software or with hardware, not both" .name) -}}
{{- end -}}
{{- end -}}
