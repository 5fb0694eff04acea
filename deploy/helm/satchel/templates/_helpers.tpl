{{- define "satchel.name" -}}
{{- if contains "satchel" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-satchel" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "satchel.selector" -}}
app.kubernetes.io/name: satchel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "satchel.labels" -}}
{{ include "satchel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* The settings whose value is a secret: they come from a Secret, or not at all. */ -}}
{{- define "satchel.refuseSecrets" -}}
{{- range $name, $value := .Values.settings }}
{{- if regexMatch "(TOKEN|PASSWORD|SECRET|API_KEY)$|^(DATABASE_URL|EMBEDDINGS_KEY|LLM_KEY|SUMMARIZER_KEY)$" $name }}{{ fail (printf "settings.%s is a secret: name a Secret in secrets.%s" $name $name) }}{{ end }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.logKeySecret) }}{{ fail "more than one replica needs logKeySecret: all must sign the log with one key" }}{{ end }}
{{- if and (gt (int .Values.replicas) 1) (not (hasKey .Values.secrets "DATABASE_URL")) }}{{ fail "more than one replica needs secrets.DATABASE_URL: a log in a folder has one writer" }}{{ end }}
{{- end }}
