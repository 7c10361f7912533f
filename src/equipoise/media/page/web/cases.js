// The case browser: unpacks what topics/cases.py packed, filters all of it at once, and shows a list beside the chosen case.
// Text of the data only ever becomes text nodes.
(function () {
  const NOTHING = 65535, SHOWN = 6, ROW = 76, PRINTED = 4;
  const byId = (id) => document.getElementById(id);
  const holder = byId("case-data");
  if (!holder) return;

  function make(name, className, text) {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function start(data) {
    const { header, columns } = data;
    const sets = columns.set_part.length;
    const first = new Uint32Array(sets + 1);
    for (let s = 0; s < sets; s++) first[s + 1] = first[s] + columns.set_size[s];
    const items = first[sets];
    const firstProb = new Uint32Array(items + 1);
    for (let i = 0; i < items; i++) firstProb[i + 1] = firstProb[i] + columns.k[i] - 1;
    for (let i = 1; i < items; i++) columns.text[i] += columns.text[i - 1];
    // The last probability is what the others leave; perplexity follows from certainty, which |D| is.
    function probs(i) {
      const known = Array.from(columns.probs.subarray(firstProb[i], firstProb[i + 1]), (p) => p / header.d_scale);
      return [...known, Math.max(0, 1 - known.reduce((sum, p) => sum + p, 0))];
    }
    const raw = (i) => Array.from({ length: columns.k[i] }, (_, c) => columns.raw[firstProb[i] + i + c] / header.d_scale);
    function perplexity(i) {
      if (columns.perplexity) return columns.perplexity[i] / (header.d_scale / 2);
      return columns.k[i] - Math.abs(columns.d[i]) / header.d_scale * (columns.k[i] - 1);
    }
    const largest = new Uint16Array(sets);
    for (let s = 0; s < sets; s++)
      for (let i = first[s]; i < first[s + 1]; i++) largest[s] = Math.max(largest[s], Math.abs(columns.d[i]));
    const people = header.names.map((joined) => joined.split("\n\n")[0].split("\n"));
    const names = header.names.map((joined) => joined.split("\n").filter(Boolean));
    const lowered = header.text.map((text) => text.toLowerCase());
    const loweredNames = people.map((several) => several.join("\n").toLowerCase());
    const control = {};
    for (const name of ["search", "part", "type", "occupation", "pronoun", "group", "correct", "flip", "sort"])
      control[name] = byId("case-" + name);
    const detail = byId("case-detail"), count = byId("case-count");
    let chosen = [], range = {}, opened;

    function options(select, all, rows) {
      if (all) select.append(new Option(all, ""));
      for (const [value, text] of rows) select.append(new Option(text, value));
    }
    const kinds = header.kinds;
    options(control.part, "all", header.parts.map((name) => [name, name]));
    byId("case-part-label").hidden = header.parts.length < 2;
    options(control.type, "all", header.type.map((name) => [name, kinds[name] || name || "none"]));
    byId("case-type-label").hidden = header.type.length < 2;
    const cloze = header.cloze.every(Boolean);
    const occupations = cloze ? [] : [...new Set(people.flat())].sort();
    options(control.occupation, "all", occupations.map((name) => [name, name]));
    byId("case-occupation-label").hidden = cloze;
    options(control.pronoun, "all", header.pronoun.filter(Boolean).sort().map((name) => [name, name]));
    byId("case-pronoun-label").hidden = header.pronoun.filter(Boolean).length < 2;
    byId("case-group-label").hidden = !Object.keys(header.groups).length;
    options(control.group, "all", Object.entries(header.groups).flatMap(([key, values]) =>
      values.filter(Boolean).map((name) => [key + "=" + name, key + ": " + name])));
    options(control.correct, "all", [["1", "right"], ["0", "wrong"], ["both", "one right, one wrong"], ["none", "no right answer"]]);
    const fates = header.fates.filter((name, number) => columns.set_fate.includes(number));
    options(control.flip, "all", [["changed", "changed"], ...fates.map((name) => [name, header.fate_words[name]])]);
    byId("case-flip-label").hidden = cloze;
    options(control.sort, "", cloze ? [["d-down", "surest first"], ["d-up", "least sure first"], ["", "order of the data"]]
      : [["u-up", "least alike first"], ["u-down", "most alike first"], ["s-up", "signed U, least alike first"],
        ["d-down", "|D|, largest first"], ["d-up", "|D|, smallest first"], ["", "order of the data"]]);
    const fateNumbers = { changed: [1, 2, 3, 4], ...Object.fromEntries(header.fates.map((name, n) => [name, [n]])) };
    const orders = header.variant.filter(Boolean).length || 1;
    const pairsIn = (several) => new Set(Array.from(several, (s) => columns.set_id[s] * 256 + columns.set_part[s])).size;
    const pairCount = pairsIn(columns.set_part.keys());

    function textMatches(words) {
      const holds = new Uint8Array(lowered.length);
      for (let t = 0; t < lowered.length; t++) holds[t] = words.every((word) => lowered[t].includes(word)) ? 1 : 0;
      const named = loweredNames.map((joined) => words.every((word) => joined.includes(word)));
      return { holds, named };
    }

    function within(s, i) {
      const value = { u: columns.set_u[s] === NOTHING ? NaN : columns.set_u[s], d: columns.d[i], c: Math.abs(columns.d[i]) };
      return Object.entries(range).every(([name, [low, high]]) =>
        value[name] >= low * header.d_scale - .5 && (value[name] < high * header.d_scale || high >= 1));
    }

    function filter() {
      performance.mark("cases-filter-start");
      const words = control.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const matches = words.length ? textMatches(words) : null;
      const cut = control.group.value.indexOf("="), groupKey = control.group.value.slice(0, Math.max(cut, 0));
      const group = groupKey ? columns["group:" + groupKey] : null;
      const groupCode = group ? header.groups[groupKey].indexOf(control.group.value.slice(cut + 1)) : -1;
      const part = header.parts.indexOf(control.part.value), type = header.type.indexOf(control.type.value);
      const pronoun = control.pronoun.value ? header.pronoun.indexOf(control.pronoun.value) : -1;
      const correct = control.correct.value, flips = fateNumbers[control.flip.value], ranged = Object.keys(range).length > 0;
      // Read once: asking an element for its value takes longer than all else that is done with a set.
      const isPart = control.part.value !== "", isType = control.type.value !== "", occupation = control.occupation.value;
      const withOccupation = occupation ? people.map((several) => several.includes(occupation)) : null;
      chosen = [];
      for (const s of ordered(control.sort.value)) {
        if (isPart && columns.set_part[s] !== part) continue;
        if (isType && columns.type[s] !== type) continue;
        if (flips && !flips.includes(columns.set_fate[s])) continue;
        const named = columns.names[first[s]];
        if (occupation && !withOccupation[named]) continue;
        let fits = false, right = false, wrong = false, hit = !matches || matches.named[named];
        for (let i = first[s]; i < first[s + 1]; i++) {
          if (!hit && matches.holds[columns.text[i]]) hit = true;
          const answer = columns.correct[i];
          if (answer === 1) right = true; else if (answer === 0) wrong = true;
          if (pronoun >= 0 && columns.pronoun[i] !== pronoun) continue;
          if (group && group[i] !== groupCode) continue;
          if ((correct === "1" && answer !== 1) || (correct === "0" && answer !== 0) || (correct === "none" && answer !== NOTHING)) continue;
          if (ranged && !within(s, i)) continue;
          fits = true;
        }
        if (hit && fits && (correct !== "both" || (right && wrong))) chosen.push(s);
      }
      draw();
      performance.measure("cases-filter", "cases-filter-start");
    }

    // All sets in the order of a choice of "sort by": made once, so that a keystroke only filters.
    const orderings = {};
    function ordered(by) {
      if (orderings[by]) return orderings[by];
      const order = Uint32Array.from({ length: sets }, (_, s) => s);
      const sign = by.endsWith("up") ? 1 : -1;
      const key = by[0] === "u" ? columns.set_u : by[0] === "s" ? columns.set_us : largest;
      // A case without U (its partner is missing) comes last either way round.
      const last = (value) => by[0] !== "d" && value === NOTHING;
      if (by) order.sort((a, b) => last(key[a]) - last(key[b]) || sign * (key[a] - key[b]) || a - b);
      return (orderings[by] = order);
    }

    const list = caseList(byId("case-list"), ROW, entry, function (s) {
      detail.replaceChildren(...(s === undefined ? [] : [row(s)]));
      detail.dataset.set = s === undefined ? "" : header.set_id[columns.set_id[s]];
    });

    function draw() {
      list.show(chosen, opened);
      byId("case-paper").replaceChildren(make("p", "small", `Printed: the first ${Math.min(PRINTED, chosen.length)} of ${chosen.length.toLocaleString("en")} cases. report.html has all of them.`),
        ...Array.from(chosen.slice(0, PRINTED), (s) => row(s)));
      const number = (value) => value.toLocaleString("en");
      // A pair that was asked in several option orders or wordings is one pair, with a case for each.
      const counted = orders > 1 ? `${number(pairsIn(chosen))} of ${number(pairCount)} sets: ${number(chosen.length)} cases, one for each of up to ${orders} ${header.ways}`
        : `${number(chosen.length)} of ${number(sets)} cases`;
      count.textContent = chosen.length ? counted : "No case fits; choose less.";
      const ranges = Object.entries(range).map(([name, [low, high]]) => `${name === "c" ? "certainty" : name.toUpperCase()} from ${low} to ${high}`);
      byId("case-range").textContent = ranges.join(", ");
      byId("case-save").hidden = false;
      byId("case-all").hidden = address() === "";
    }

    // The state of the browser is in the address: #filter=type:type1,flip:toward or #case=set,part,variant.
    function address() {
      const state = [];
      for (const [name, node] of Object.entries(control)) {
        const usual = name === "sort" ? node.options[0].value : "";
        if (node.value !== usual) state.push(name + ":" + encodeURIComponent(node.value));
      }
      for (const [name, ends] of Object.entries(range)) state.push(name + ":" + encodeURIComponent(ends.join("~")));
      return state.length ? "#filter=" + state.join(",") : "";
    }
    function caseAddress(s) {
      const key = [header.set_id[columns.set_id[s]], header.parts[columns.set_part[s]], header.variant[columns.variant[s]]];
      return "#case=" + key.map(encodeURIComponent).join(",").replace(/,+$/, "");
    }
    function findCase(key) {
      const [id, part, variant] = key.split(",").map(decodeURIComponent);
      const code = header.set_id.indexOf(id);
      for (let s = 0; s < sets; s++)
        if (columns.set_id[s] === code && (!part || header.parts[columns.set_part[s]] === part)
          && (!variant || header.variant[columns.variant[s]] === variant)) return s;
      return -1;
    }
    function readAddress() {
      const hash = location.hash.slice(1);
      if (!/^(case|filter)=/.test(hash)) return false;
      opened = undefined; range = {};
      for (const [name, node] of Object.entries(control)) node.value = name === "sort" ? node.options[0].value : "";
      try {
        if (hash.startsWith("case=")) {
          opened = findCase(hash.slice(5));
          if (opened < 0) { count.textContent = "This case is not in the page."; return false; }
        } else for (const pair of hash.slice(7).split(",")) {
          const cut = pair.indexOf(":"), name = pair.slice(0, cut), value = decodeURIComponent(pair.slice(cut + 1));
          if (control[name]) control[name].value = value;
          else if (/^[ucd]$/.test(name)) { const ends = value.split("~").map(Number); if (ends.every(isFinite)) range[name] = ends; }
        }
      } catch (error) { return false; }  // an address that was cut
      filter();
      // Where the list is above the case, a link to a case leads to the case itself.
      const below = detail.offsetTop > byId("case-list").offsetTop;
      (opened === undefined ? byId("cases") : below ? detail : byId("case-browser")).scrollIntoView({ behavior: "instant" });
      return true;
    }

    function copy(text, button) {
      const done = () => { const was = button.textContent; button.textContent = "copied"; setTimeout(() => { button.textContent = was; }, 1200); };
      const byHand = function () {
        const box = make("textarea"); box.value = text; document.body.append(box); box.select();
        document.execCommand("copy"); box.remove(); done();
      };
      if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
    }
    function record(i, s) {
      const several = names[columns.names[i]], shares = probs(i);
      return { set_id: header.set_id[columns.set_id[s]], data: header.parts[columns.set_part[s]], variant: header.variant[columns.variant[s]],
        option_order: header.order[columns.order[s]].split(" ").filter(Boolean).map((option) => names[columns.names[first[s]]][option] || ""),
        type: header.type[columns.type[s]], fate: header.fates[columns.set_fate[s]] || "", sentence: header.text[columns.text[i]],
        pronoun: header.pronoun[columns.pronoun[i]], candidates: several, probabilities: shares.map((p) => +p.toFixed(4)), raw_probabilities: raw(i),
        right_answer: columns.gold[i] === 255 ? "" : several[columns.gold[i]] || "", correct: columns.correct[i] === NOTHING ? null : columns.correct[i],
        d: columns.d[i] / header.d_scale, u: columns.set_u[s] === NOTHING ? null : columns.set_u[s] / header.d_scale };
    }
    const records = () => chosen.flatMap((s) => Array.from({ length: first[s + 1] - first[s] }, (_, n) => record(first[s] + n, s)));
    function markdown(s) {
      const lines = [];
      const plain = (text) => String(text).replace(/([\\`*_{}\[\]|<>#~])/g, "\\$1");
      for (let i = first[s]; i < first[s + 1]; i++) {
        const shown = record(i, s);
        if (i === first[s]) lines.push(`**${plain(shown.set_id)}** (${plain(shown.data)}${shown.variant ? ", " + plain(shown.variant) : ""})`, "");
        const shares = shown.candidates.map((name, c) => `${plain(name)} ${percent(shown.probabilities[c])}`).join(", ");
        lines.push(`- ${plain(shown.sentence || shown.pronoun)}: ${shares}`);
      }
      return lines.join("\n") + "\n\n" + location.href.split("#")[0] + caseAddress(s) + "\n";
    }
    function save(name, type, text) {
      const link = make("a");
      link.href = URL.createObjectURL(new Blob([text], { type }));
      link.download = name; link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
    function csv(rows) {
      // A spreadsheet would run a cell that begins like a formula.
      const cell = (value) => { const text = Array.isArray(value) ? value.join(" | ") : String(value ?? "");
        return '"' + (/^[=+@]|^-[^\d]/.test(text) ? "'" + text : text).replaceAll('"', '""') + '"'; };
      return [Object.keys(rows[0]).join(","), ...rows.map((row) => Object.values(row).map(cell).join(","))].join("\n") + "\n";
    }

    const percent = (p) => p > 0 && p < 0.0005 ? "<0.1%" : (100 * p).toFixed(1) + "%";

    function sentence(texts) {
      // One sentence with all forms of the word that differs, where one word is all that differs.
      const parts = texts.map((text) => text.split(" "));
      const line = make("p", "sentence");
      line.dir = "auto";  // right-to-left scripts
      const place = parts[0].findIndex((word, i) => parts.some((other) => other[i] !== word));
      const same = place >= 0 && parts.every((other) => other.length === parts[0].length
        && other.every((word, i) => i === place || word === parts[0][i]));
      if (!same) { line.textContent = texts[0]; return { line, merged: place < 0, words: [] }; }
      line.append(parts[0].slice(0, place).join(" ") + (place ? " " : ""));
      line.append(make("mark", "", parts.map((other) => other[place]).join(" / ")));
      line.append((place + 1 < parts[0].length ? " " : "") + parts[0].slice(place + 1).join(" "));
      return { line, merged: true, words: parts.map((other) => other[place].replace(/[.,;:!?]+$/, "")) };
    }

    function member(i, s, withText, word) {
      const node = make("div", "member");
      const who = make("div", "who");
      const name = header.pronoun[columns.pronoun[i]] || word;
      if (name) who.append(make("strong", "", name));
      const stereotype = header.groups.stereotype ? header.groups.stereotype[columns["group:stereotype"][i]] : "";
      if (stereotype) who.append(make("span", "small", { pro: "with the stereotype", anti: "against the stereotype" }[stereotype] || stereotype));
      if (withText) who.append(make("p", "own", header.text[columns.text[i]]));
      const bars = make("div", "bars");
      const k = columns.k[i], own = names[columns.names[i]];
      const shares = probs(i), best = shares.indexOf(Math.max(...shares));
      for (let c = 0; c < k; c++) {
        const p = shares[c];
        const bar = make("div", c === best ? "bar-row best" : "bar-row");
        const label = make("span", "bar-name", own[c] || "option " + (c + 1));
        if (c === columns.gold[i]) { label.append(make("span", "gold", " ●")); label.title = columns.settled[i] ? "the right answer" : "the label; the sentence does not settle it"; }
        const track = make("span", "track"), fill = make("span", "fill");
        fill.style.width = (100 * p).toFixed(2) + "%";
        track.append(fill);
        bar.append(label, track, make("span", "bar-value", percent(p)));
        bars.append(bar);
      }
      const numbers = make("dl", "numbers");
      const answer = columns.correct[i];
      const judged = answer === 1 ? "✓ right" : answer === 0 ? "✗ wrong" : "no right answer";
      const isCloze = header.cloze[columns.set_part[s]];
      const rows = isCloze ? [["as people say", answer === 1 ? "✓ yes" : answer === 0 ? "✗ no" : "no label"], ["perplexity", perplexity(i).toFixed(3)]]
        : !columns.settled[i] && answer !== NOTHING ? [["as labelled", answer === 1 ? "✓ yes" : "✗ no"], ["perplexity", perplexity(i).toFixed(3)], ["certainty", Math.abs(columns.d[i] / header.d_scale).toFixed(3)]]
        : answer === NOTHING ? [["answer", judged], ["perplexity", perplexity(i).toFixed(3)], ["certainty", Math.abs(columns.d[i] / header.d_scale).toFixed(3)]]
        : [["answer", judged], ["perplexity", perplexity(i).toFixed(3)], ["D", (columns.d[i] / header.d_scale).toFixed(3)]];
      rows.push(["raw probability", raw(i).map(percent).join(", ")]);
      for (const [name, value] of rows) {
        const pair = make("div", name === "answer" || isCloze ? (answer === 1 ? "right" : answer === 0 ? "wrong" : "") : "");
        pair.append(make("dt", "", name), make("dd", "", value));
        numbers.append(pair);
      }
      node.append(who, bars, numbers);
      return node;
    }

    // How a case was asked: its seed, and the options as they were shown.
    function asked(s) {
      const variant = header.variant[columns.variant[s]].replace(/(seed|wording)=/g, "$1 ").replaceAll(",", ", ");
      const order = header.order[columns.order[s]];
      if (!order) return variant;
      const several = names[columns.names[first[s]]];
      const shown = order.split(" ").map((option, place) => String.fromCharCode(65 + place) + " " + (several[option] || "option " + (+option + 1)));
      return variant + ", options: " + shown.join(", ");
    }

    // The sentence of a case with all its forms, and how alike they were treated.
    function headOf(s) {
      const texts = [];
      for (let i = first[s]; i < first[s + 1]; i++) texts.push(header.text[columns.text[i]]);
      const { line, merged, words } = sentence(texts);
      const u = make("p", "u");
      const plain = columns.set_u[s], signed = columns.set_us[s], number = (value) => (value / header.d_scale).toFixed(3);
      // Where no answer is right, U cannot see that the answer changed: the signed one comes first.
      const settled = columns.settled[first[s]] && columns.correct[first[s]] !== NOTHING;
      if (!settled && signed !== NOTHING && signed !== plain) u.append("signed U ", make("strong", "", number(signed)), " · ");
      if (plain !== NOTHING) u.append("U ", make("b", "", number(plain)));
      if (texts[0] === "") line.textContent = people[columns.names[first[s]]].join(" · ");
      return { line, u, merged, words };
    }
    function factsOf(s) {
      const kind = header.type[columns.type[s]];
      const fate = header.fate_words[header.fates[columns.set_fate[s]]];
      // What was found first: in the list the end may be cut.
      const facts = [fate, kinds[kind] || kind, header.parts.length > 1 ? header.parts[columns.set_part[s]] : "", asked(s)];
      const line = make("p", "small facts-of-case", facts.filter(Boolean).join(" · "));
      if (fate) line.prepend(make("span", "fate f-" + header.fates[columns.set_fate[s]]));
      return line;
    }
    function entry(node, s) {
      const { line, u } = headOf(s), facts = make("div", "line");
      facts.append(factsOf(s), u);
      node.append(line, facts);
    }

    // Where a set has many members, the first screen has room for the two that differ most.
    function row(s, most = SHOWN) {
      const node = make("article", "case"), head = make("div", "case-head"), line2 = factsOf(s);
      const { line, u, merged, words } = headOf(s);
      head.append(...(merged ? [line] : []), u);  // otherwise every member has its own text
      node.append(head);
      const link = make("button", "quiet", "copy link"), text = make("button", "quiet", "copy as Markdown");
      link.type = text.type = "button";
      link.addEventListener("click", () => copy(location.href.split("#")[0] + caseAddress(s), link));
      text.addEventListener("click", () => copy(markdown(s), text));
      line2.append(link, text);
      node.append(line2);
      const rest = Array.from({ length: first[s + 1] - first[s] }, (_, n) => first[s] + n);
      const add = (i) => member(i, s, !merged, words[i - first[s]]);
      if (rest.length > most) {
        if (most === 2) rest.sort((a, b) => probs(a)[0] - probs(b)[0]).splice(1, 0, rest.pop());
        const more = rest.splice(most), button = make("button", "", `show ${more.length} more`);
        node.append(...rest.splice(0).map(add));
        button.type = "button";
        button.addEventListener("click", function () {
          button.before(...more.map(add));
          button.remove();
        });
        node.append(button);
      }
      node.append(...rest.map(add));
      return node;
    }

    const form = byId("case-form"); form.hidden = byId("case-browser").hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", function () { opened = undefined; filter(); history.replaceState(null, "", address() || location.href.split("#")[0]); });
    byId("case-all").addEventListener("click", function () {
      opened = undefined; range = {};
      for (const [name, node] of Object.entries(control)) node.value = name === "sort" ? node.options[0].value : "";
      history.replaceState(null, "", location.href.split("#")[0]);
      filter();
    });
    byId("case-link").addEventListener("click", function () { copy(location.href.split("#")[0] + address(), this); });
    byId("case-csv").addEventListener("click", () => { if (chosen.length) save("cases.csv", "text/csv", csv(records())); });
    byId("case-json").addEventListener("click", () => save("cases.json", "application/json", JSON.stringify(records(), null, 1)));
    document.addEventListener("click", function (event) {
      const mark = event.target.closest ? event.target.closest("[data-case]") : null;
      if (mark) location.hash = "case=" + mark.dataset.case;
    });
    addEventListener("hashchange", readAddress);
    for (const place of document.querySelectorAll("[data-worst]")) {
      const s = findCase(place.dataset.worst);
      if (s >= 0) place.replaceChildren(row(s, 2));
    }
    if (!readAddress()) filter();
    document.documentElement.dataset.cases = "ready";
  }

  unpackCases(holder.textContent.trim()).then(start).catch(function (error) {
    byId("case-count").textContent = "The cases could not be unpacked here (" + error.message + "). A browser of 2023 or later can show them.";
  });
})();
