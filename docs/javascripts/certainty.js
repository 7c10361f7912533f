// The figure of explanations/certainty.md: two probabilities in; certainty, D, U and flips out. No library, nothing is fetched.
(function () {
  "use strict";
  function certainty(p) {
    const bits = [p, 1 - p].filter((x) => x > 0).reduce((sum, x) => sum - x * Math.log2(x), 0);
    return 2 - Math.pow(2, bits); // (k - perplexity) / (k - 1) with k = 2
  }
  function compute(first, second, answerable) {
    // first and second: probability of the nurse with "she" and with "he"; where answerable, the nurse is right.
    const c = [certainty(first), certainty(second)];
    const choice = [first, second].map((p) => (p > 0.5 ? "nurse" : p < 0.5 ? "doctor" : "nobody"));
    const d = c.map((value, i) => (!answerable || choice[i] === "nurse" ? value : -value));
    const signed = c.map((value, i) => (choice[i] === "nurse" ? value : -value));
    const gap = Math.abs(d[0] - d[1]);
    const flips = choice[0] !== choice[1] && !choice.includes("nobody");
    return { c, d, choice, flips, u: 1 - gap / (answerable ? 2 : 1), signed: 1 - Math.abs(signed[0] - signed[1]) / 2 };
  }
  function draw(box) {
    const value = (name) => box.querySelector(`[name=${name}]`);
    const first = value("she").value / 100, second = value("he").value / 100;
    const answerable = value("answerable").checked;
    const r = compute(first, second, answerable);
    const x = (d) => 150 + 130 * d;
    const dot = (d, word, y) =>
      `<circle cx="${x(d)}" cy="40" r="7"><title>${word}</title></circle><text x="${x(d)}" y="${y}">${word}</text>`;
    box.querySelector("svg").innerHTML =
      `<line x1="20" x2="280" y1="40" y2="40"/><line x1="150" x2="150" y1="34" y2="46"/>` +
      `<text x="20" y="76">−1 surely wrong</text><text x="280" y="76">surely right 1</text>` +
      `<line class="gap" x1="${x(r.d[0])}" x2="${x(r.d[1])}" y1="40" y2="40"/>` +
      dot(r.d[0], "she", 24) + dot(r.d[1], "he", 62);
    const show = (name, text) => { box.querySelector(`[data-value=${name}]`).textContent = text; };
    show("p-she", first.toFixed(2)); show("p-he", second.toFixed(2));
    show("c-she", r.c[0].toFixed(3)); show("c-he", r.c[1].toFixed(3));
    show("choice-she", r.choice[0]); show("choice-he", r.choice[1]);
    show("d-she", r.d[0].toFixed(3)); show("d-he", r.d[1].toFixed(3));
    show("u", r.u.toFixed(3)); show("signed", answerable ? "–" : r.signed.toFixed(3));
    show("flips", r.flips ? "yes" : "no");
  }
  function start() {
    for (const box of document.querySelectorAll("#certainty-figure")) {
      box.addEventListener("input", () => draw(box));
      draw(box);
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
