# METADATA
# title: What of the policy stores can evaluate
# description: |
#   POST /v1/data/cmo/context_filter with {"specialist": …, "action", "purpose"} answers
#   {"match": "none" | "all"} or {"match": "where", "conditions": […]}.
package cmo.context_filter

import data.cmo.wire

match := wire.filter(input).match

conditions := wire.filter(input).conditions
