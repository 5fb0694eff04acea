# METADATA
# title: Many items in one request
# description: |
#   POST /v1/data/cmo/context_batch with {"specialist": …, "items": [{"id", "content",
#   "metadata"}, …]} answers {"decisions": [{"allow", "redact", "redactedFields",
#   "reason"}, …]}, one for each item, in their order.
package cmo.context_batch

import data.cmo.wire

decisions := [wire.answer(verdict) | some verdict in wire.verdicts(input, input.items)]
