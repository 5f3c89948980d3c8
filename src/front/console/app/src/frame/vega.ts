// SPDX-License-Identifier: Apache-2.0
import embed from "vega-embed";

(globalThis as { vegaEmbed?: unknown }).vegaEmbed = embed;
