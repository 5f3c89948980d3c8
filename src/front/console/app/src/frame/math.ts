// SPDX-License-Identifier: Apache-2.0
//
// LaTeX in text, as MathML: browsers bring the fonts.

import renderMathInElement from "katex/contrib/auto-render";

(globalThis as { renderMath?: (element: HTMLElement) => void }).renderMath = (element) =>
  renderMathInElement(element, {
    output: "mathml",
    throwOnError: false,
    trust: false,
    maxExpand: 1000,
    delimiters: [
      { left: "$$", right: "$$", display: true },
      { left: "\\[", right: "\\]", display: true },
      { left: "\\begin{equation}", right: "\\end{equation}", display: true },
      { left: "\\begin{align}", right: "\\end{align}", display: true },
      { left: "\\(", right: "\\)", display: false },
      { left: "$", right: "$", display: false },
    ],
  });
