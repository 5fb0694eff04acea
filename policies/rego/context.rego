# METADATA
# title: One item, as a specialist's slicer asks
# description: |
#   POST /v1/data/cmo/context with {"specialist": …, "item": {"id", "content", "metadata"}}
#   answers {"allow", "redact", "redactedFields", "obligations", "reason"}. It is the batch decision over
#   that one item.
package cmo.context

import data.cmo.wire

default allow := false

allow if wire.decision(input).allow

default redact := false

redact if wire.decision(input).redact

default redactedFields := []

redactedFields := wire.decision(input).redactedFields

default obligations := {}

obligations := wire.decision(input).obligations

default reason := "policy_error"

reason := wire.decision(input).reason
