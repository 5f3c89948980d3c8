/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/api_metrics.h - the handler of /metrics (private to front/). */
#ifndef FRONT_API_API_METRICS_H
#define FRONT_API_API_METRICS_H

#include "front/api/api_internal.h"

void api_metrics_get(void *ctx, struct http_request *r);

#endif
