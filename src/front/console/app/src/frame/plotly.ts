// SPDX-License-Identifier: Apache-2.0
// @ts-expect-error: the package has no types
import Plotly from "plotly.js-basic-dist-min";

(globalThis as { Plotly?: unknown }).Plotly = Plotly;
