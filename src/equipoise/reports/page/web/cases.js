// The case browser: unpacks what reports/cases.py packed, filters all of it at once, and makes rows as they come into view.
// Text of the data only ever becomes text nodes.
(function () {
  const NOTHING = 65535, STEP = 25, SHOWN = 6;
  const byId = (id) => document.getElementById(id);
  const holder = byId("case-data");
  if (!holder) return;

  function make(name, className, text) {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  async function unpack(base64) {
    const raw = atob(base64);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const kinds = { uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array, int32: Int32Array, uint32: Uint32Array };
    const columns = {};
    let offset = 4 + length;
    for (const [name, kind, count] of header.columns) {
      const end = offset + count * kinds[kind].BYTES_PER_ELEMENT;
      columns[name] = new kinds[kind](buffer.slice(offset, end));
      offset = end;
    }
    return { header, columns };
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
    function perplexity(i) {
      if (columns.perplexity) return columns.perplexity[i] / (header.d_scale / 2);
      return columns.k[i] - Math.abs(columns.d[i]) / header.d_scale * (columns.k[i] - 1);
    }
    const largest = new Uint16Array(sets);
    for (let s = 0; s < sets; s++)
      for (let i = first[s]; i < first[s + 1]; i++) largest[s] = Math.max(largest[s], Math.abs(columns.d[i]));
    const names = header.set_names.map((joined) => joined.split("\n"));
    const lowered = header.text.map((text) => text.toLowerCase());
    const loweredNames = header.set_names.map((joined) => joined.slice(0, joined.lastIndexOf("\n")).toLowerCase());
    const control = {};
    for (const name of ["search", "part", "type", "occupation", "pronoun", "group", "correct", "sort"])
      control[name] = byId("case-" + name);
    const list = byId("case-list"), count = byId("case-count");
    let chosen = [], shown = 0;

    function options(select, all, rows) {
      if (all) select.append(new Option(all, ""));
      for (const [value, text] of rows) select.append(new Option(text, value));
    }
    const kinds = { type2: "resolvable (type 2)", type1: "ambiguous (type 1)" };
    options(control.part, "all", header.parts.map((name, i) => [String(i), name]));
    byId("case-part-label").hidden = header.parts.length < 2;
    options(control.type, "all", header.type.map((name, i) => [String(i), kinds[name] || name || "none"]));
    const occupations = [...new Set(names.flatMap((several) => several.slice(0, -1)))].sort();
    options(control.occupation, "all", occupations.map((name) => [name, name]));
    options(control.pronoun, "all", header.pronoun.map((name, i) => [String(i), name]).filter((row) => row[1]).sort((a, b) => a[1] < b[1] ? -1 : 1));
    options(control.group, "all", Object.entries(header.groups).flatMap(([key, values]) =>
      values.map((name, i) => [key + "\n" + i, key + ": " + name, name]).filter((row) => row[2])));
    options(control.correct, "all", [["1", "right"], ["0", "wrong"], ["both", "one right, one wrong"], ["none", "no right answer"]]);
    options(control.sort, "", [["u-up", "U, least alike first"], ["u-down", "U, most alike first"],
      ["d-down", "|D|, largest first"], ["d-up", "|D|, smallest first"], ["", "order of the data"]]);

    function textMatches(words) {
      const found = new Uint8Array(lowered.length);
      for (let t = 0; t < lowered.length; t++) found[t] = words.every((word) => lowered[t].includes(word)) ? 1 : 0;
      const named = loweredNames.map((joined) => words.every((word) => joined.includes(word)));
      return { found, named };
    }

    function filter() {
      performance.mark("cases-filter-start");
      const words = control.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const matches = words.length ? textMatches(words) : null;
      const [groupKey, groupCode] = control.group.value.split("\n");
      const group = groupKey ? columns["group:" + groupKey] : null;
      const part = control.part.value, type = control.type.value, pronoun = control.pronoun.value;
      const correct = control.correct.value;
      const withOccupation = names.map((several) => several.indexOf(control.occupation.value, 0));
      chosen = [];
      for (let s = 0; s < sets; s++) {
        if (part && columns.set_part[s] !== +part) continue;
        if (type && columns.type[s] !== +type) continue;
        const named = columns.set_names[s];
        if (control.occupation.value && (withOccupation[named] < 0 || withOccupation[named] === names[named].length - 1)) continue;
        let fits = false, right = false, wrong = false, hit = !matches || matches.named[named];
        for (let i = first[s]; i < first[s + 1]; i++) {
          if (!hit && matches.found[columns.text[i]]) hit = true;
          const answer = columns.correct[i];
          if (answer === 1) right = true; else if (answer === 0) wrong = true;
          if (pronoun && columns.pronoun[i] !== +pronoun) continue;
          if (group && group[i] !== +groupCode) continue;
          if ((correct === "1" && answer !== 1) || (correct === "0" && answer !== 0) || (correct === "none" && answer !== NOTHING)) continue;
          fits = true;
        }
        if (hit && fits && (correct !== "both" || (right && wrong))) chosen.push(s);
      }
      sort(control.sort.value);
      draw();
      performance.measure("cases-filter", "cases-filter-start");
    }

    function sort(by) {
      if (!by) return;
      const sign = by.endsWith("up") ? 1 : -1;
      const key = by[0] === "u" ? columns.set_u : largest;
      // A case without U (its partner is missing) stands last either way round.
      const last = (value) => by[0] === "u" && value === NOTHING;
      chosen.sort((a, b) => last(key[a]) - last(key[b]) || sign * (key[a] - key[b]) || a - b);
    }

    function draw() {
      list.replaceChildren();
      shown = 0;
      more();
    }

    function more() {
      const end = Math.min(shown + STEP, chosen.length);
      const rows = document.createDocumentFragment();
      for (; shown < end; shown++) rows.append(row(chosen[shown]));
      list.append(rows);
      const all = chosen.length.toLocaleString("en");
      count.textContent = chosen.length ? `${all} of ${sets.toLocaleString("en")} cases` : "No case fits; choose less.";
    }

    const percent = (p) => p > 0 && p < 0.0005 ? "<0.1%" : (100 * p).toFixed(1) + "%";

    function sentence(texts) {
      // One sentence with all forms of the word that differs, where one word is all that differs.
      const parts = texts.map((text) => text.split(" "));
      const line = make("p", "sentence");
      const place = parts[0].findIndex((word, i) => parts.some((other) => other[i] !== word));
      const same = place >= 0 && parts.every((other) => other.length === parts[0].length
        && other.every((word, i) => i === place || word === parts[0][i]));
      if (!same) { line.textContent = texts[0]; return { line, merged: place < 0 }; }
      line.append(parts[0].slice(0, place).join(" ") + (place ? " " : ""));
      line.append(make("mark", "", parts.map((other) => other[place]).join(" / ")));
      line.append((place + 1 < parts[0].length ? " " : "") + parts[0].slice(place + 1).join(" "));
      return { line, merged: true };
    }

    function member(i, several, withText) {
      const node = make("div", "member");
      const who = make("div", "who");
      who.append(make("strong", "", header.pronoun[columns.pronoun[i]] || "–"));
      const stereotype = header.groups.stereotype ? header.groups.stereotype[columns["group:stereotype"][i]] : "";
      if (stereotype) who.append(make("span", "small", stereotype));
      if (withText) who.append(make("p", "own", header.text[columns.text[i]]));
      const bars = make("div", "bars");
      const k = columns.k[i], own = k < several.length ? several.slice(0, k) : several;
      const shares = probs(i), best = shares.indexOf(Math.max(...shares));
      for (let c = 0; c < k; c++) {
        const p = shares[c];
        const bar = make("div", c === best ? "bar-row best" : "bar-row");
        const label = make("span", "bar-name", own[c] || "option " + (c + 1));
        if (c === columns.gold[i]) { label.append(make("span", "gold", " ●")); label.title = "the right answer"; }
        const track = make("span", "track"), fill = make("span", "fill");
        fill.style.width = (100 * p).toFixed(2) + "%";
        track.append(fill);
        bar.append(label, track, make("span", "bar-value", percent(p)));
        bars.append(bar);
      }
      const numbers = make("dl", "numbers");
      const answer = columns.correct[i];
      const told = answer === 1 ? "✓ right" : answer === 0 ? "✗ wrong" : "no right answer";
      const rows = [["answer", told], ["perplexity", perplexity(i).toFixed(3)], ["D", (columns.d[i] / header.d_scale).toFixed(3)]];
      for (const [name, value] of rows) {
        const pair = make("div", name === "answer" ? (answer === 1 ? "right" : answer === 0 ? "wrong" : "") : "");
        pair.append(make("dt", "", name), make("dd", "", value));
        numbers.append(pair);
      }
      node.append(who, bars, numbers);
      return node;
    }

    function row(s) {
      const node = make("article", "case");
      const several = names[columns.set_names[s]];
      const texts = [];
      for (let i = first[s]; i < first[s + 1]; i++) texts.push(header.text[columns.text[i]]);
      const { line, merged } = sentence(texts);
      const head = make("div", "case-head");
      const u = make("p", "u");
      u.append("U ", make("b", "", columns.set_u[s] === NOTHING ? "–" : (columns.set_u[s] / header.d_scale).toFixed(3)));
      if (texts[0] === "") line.textContent = several.slice(0, -1).join(" · ");
      head.append(line, u);
      node.append(head);
      const kind = header.type[columns.type[s]];
      node.append(make("p", "small", [header.parts.length > 1 ? header.parts[columns.set_part[s]] : "", kinds[kind] || kind].filter(Boolean).join(" · ")));
      const end = first[s + 1];
      let next = Math.min(first[s] + SHOWN, end);
      for (let i = first[s]; i < next; i++) node.append(member(i, several, !merged));
      if (next < end) {
        const button = make("button", "", `show ${end - next} more`);
        button.type = "button";
        button.addEventListener("click", function () {
          for (; next < end; next++) button.before(member(next, several, !merged));
          button.remove();
        });
        node.append(button);
      }
      return node;
    }

    const form = byId("case-form");
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", filter);
    const end = make("div", "end");
    list.after(end);
    new IntersectionObserver(function (seen) {
      if (seen.some((entry) => entry.isIntersecting) && shown < chosen.length) more();
    }, { rootMargin: "800px" }).observe(end);
    filter();
    document.documentElement.dataset.cases = "ready";
  }

  unpack(holder.textContent.trim()).then(start).catch(function (error) {
    byId("case-count").textContent = "The cases could not be unpacked here (" + error.message + "). A browser of 2023 or later can show them.";
  });
})();
