{{- define "ipybox.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "ipybox.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ipybox.labels" -}}
{{ include "ipybox.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "ipybox.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "ipybox.secret" -}}
{{ default (include "ipybox.fullname" .) .Values.auth.existingSecret }}
{{- end -}}

{{- define "ipybox.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "ipybox.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{/* The names of files that config asks for, as a list in JSON. */}}
{{- define "ipybox.files" -}}
{{- $files := dict -}}
{{- with .Values.config.mcpServers }}{{ $_ := set $files "mcp-servers" (dict "mcpServers" .) }}{{ end -}}
{{- with .Values.config.toolPolicy }}{{ $_ := set $files "tool-policy" . }}{{ end -}}
{{- with .Values.config.sandboxConfig }}{{ $_ := set $files "sandbox-config" . }}{{ end -}}
{{ toJson $files }}
{{- end -}}

{{/* What no schema can say. */}}
{{- define "ipybox.check" -}}
{{- if ge (int .Values.stopGraceSeconds) (int .Values.terminationGracePeriodSeconds) -}}
{{- fail "stopGraceSeconds must be less than terminationGracePeriodSeconds: the kubelet kills at the end of the latter" -}}
{{- end -}}
{{- if and .Values.workspace.existingClaim (gt (int .Values.replicas) 1) -}}
{{- fail "workspace.existingClaim is one workspace, and replicas would share it: leave it out, or use one replica" -}}
{{- end -}}
{{- if and .Values.auth.approverTokenKey (not .Values.auth.existingSecret) -}}
{{- fail "auth.approverTokenKey names a key of auth.existingSecret, which is missing" -}}
{{- end -}}
{{- if and .Values.config.sandboxConfig (not .Values.sandbox) -}}
{{- fail "config.sandboxConfig has no effect without sandbox: true" -}}
{{- end -}}
{{- end -}}
