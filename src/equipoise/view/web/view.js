// The list of runs: filters and sorting that are part of the address, rows that follow runs that are still going.
(function () {
  const again = Number(document.body.dataset.refresh);
  if (again) setTimeout(function () { location.reload(); }, 1000 * again);
  const table = document.querySelector("table.runs");
  if (!table) return;
  const body = table.tBodies[0], form = document.getElementById("filters"), count = document.getElementById("count");
  const chosen = document.getElementById("chosen"), picked = document.getElementById("picked");
  const names = ["dataset", "task", "status", "state"], more = document.getElementById("more");
  // A browser takes a second to lay out a thousand rows that nobody reads.
  const most = Number(table.dataset.most);
  let every = false;
  const heads = Array.from(table.tHead.rows[0].cells);
  function fill(name) {
    const select = form.elements[name], kept = select.value;
    const values = new Set(Array.from(body.rows, function (row) { return row.dataset[name]; }).filter(Boolean));
    if (kept) values.add(kept);
    select.replaceChildren(new Option("all", ""), ...Array.from(values).sort().map(function (value) { return new Option(value, value); }));
    select.value = kept;
  }
  function apply() {
    const words = form.elements.q.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = names.map(function (name) { return [name, form.elements[name].value]; }).filter(function (pair) { return pair[1]; });
    const seen = new Set(), all = new Set();
    let room = every ? Infinity : most, rest = 0;
    for (const row of body.rows) {
      const data = row.dataset;
      const shown = words.every(function (word) { return data.text.includes(word); }) && wanted.every(function (pair) { return data[pair[0]] === pair[1]; });
      const drawn = shown && room > 0;
      if (row.hidden === drawn) row.hidden = !drawn;
      if (drawn) room -= 1; else if (shown) rest += 1;
      all.add(data.slug);
      if (shown) seen.add(data.slug);
    }
    const going = new Set(Array.from(body.querySelectorAll("tr[data-state=running]"), function (row) { return row.dataset.slug; })).size;
    const text = (seen.size === all.size ? "" : seen.size + " of ") + all.size + (all.size === 1 ? " run" : " runs") + (going ? ", " + going + " still going" : "");
    if (count.textContent !== text) count.textContent = text;
    more.hidden = !rest;
    more.textContent = "Show all " + seen.size + " runs";
  }
  function state() {
    const fields = new URLSearchParams();
    for (const name of ["q"].concat(names)) if (form.elements[name].value) fields.set(name, form.elements[name].value);
    const head = heads.findIndex(function (cell) { return cell.hasAttribute("aria-sort"); });
    if (head > 0) fields.set("sort", (heads[head].getAttribute("aria-sort") === "descending" ? "-" : "") + head);
    if (every) fields.set("all", "1");
    for (const box of body.querySelectorAll("input:checked")) fields.append("run", box.value);
    const text = fields.toString();
    history.replaceState(null, "", location.pathname + (text ? "?" + text : ""));
  }
  function pick() {
    if (!picked) return;
    const number = body.querySelectorAll("input:checked").length;
    picked.textContent = number ? number + " chosen" + (number < 2 ? "; choose one more." : ".") : "Choose two or more.";
  }
  function update() { apply(); state(); }
  function start() {
    form.hidden = false;
    // The ticks are not a column to sort by.
    const first = heads[0].querySelector(".sort");
    if (first) first.remove();
    const given = new URLSearchParams(location.search);
    names.forEach(fill);
    for (const name of names) {
      const value = given.get(name) || "";
      if (value && !Array.from(form.elements[name].options, function (option) { return option.value; }).includes(value)) form.elements[name].append(new Option(value, value));
      form.elements[name].value = value;
    }
    form.elements.q.value = given.get("q") || "";
    every = given.has("all");
    const sorted = given.get("sort") || "", column = Math.abs(Number(sorted));
    if (column > 0 && column < heads.length) {
      const button = heads[column].querySelector(".sort");
      button.click();
      if (sorted.startsWith("-")) button.click();
    }
    const ticked = new Set(given.getAll("run"));
    for (const box of body.querySelectorAll("input[name=run]")) box.checked = ticked.has(box.value);
    apply();
    pick();
    form.addEventListener("input", update);
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    table.tHead.addEventListener("click", update);
    more.addEventListener("click", function () {
      const next = body.querySelector("tr[hidden] a");
      every = true;
      update();
      if (next) next.focus();
    });
    chosen.addEventListener("change", function () { pick(); state(); });
  }
  // The page of a run that is still going has its rows, and nothing to choose.
  const only = table.dataset.only, begun = body.rows.length ? body.rows[0].dataset.state : "";
  if (only === undefined) start();
  document.documentElement.dataset.list = "ready";
  if (table.dataset.static !== undefined) return;
  // A run that is new or has changed comes as its rows; the choice and the sorting stay.
  let seen = table.dataset.seen;
  function put(slug, html) {
    const old = Array.from(body.querySelectorAll("tr")).filter(function (row) { return row.dataset.slug === slug; });
    const made = document.createElement("template");
    made.innerHTML = html;
    const rows = Array.from(made.content.querySelectorAll("tr"));
    const on = old.some(function (row) { return row.querySelector("input:checked"); });
    const focused = old.some(function (row) { return row.contains(document.activeElement); });
    if (!old.length) rows.forEach(function (row) { row.classList.add("new"); });
    if (old.length) old[0].before(...rows); else body.prepend(...rows);
    old.forEach(function (row) { row.remove(); });
    const box = rows.length ? rows[0].querySelector("input") : null;
    if (box && on) box.checked = true;
    if (focused && rows.length) (rows[0].querySelector("a, input") || table.parentNode).focus();
  }
  async function follow() {
    try {
      if (!document.hidden) {
        const answer = await fetch("rows.json?seen=" + encodeURIComponent(seen), { cache: "no-store" });
        if (answer.ok) {
          const news = await answer.json();
          // The newest comes first, so that it is put on top last.
          for (const row of news.rows.reverse()) if (only === undefined || row.slug === only) put(row.slug, row.html);
          for (const slug of news.gone) for (const row of Array.from(body.rows)) if (row.dataset.slug === slug) row.remove();
          if (only !== undefined && (!body.rows.length || body.rows[0].dataset.state !== begun)) { location.reload(); return; }
          if (only === undefined && (news.rows.length || news.gone.length)) {
            document.querySelectorAll(".empty").forEach(function (line) { line.remove(); });
            names.forEach(fill);
            apply();
            pick();
          }
          seen = news.seen;
        }
      }
    } catch (error) { count.textContent = "The viewer does not answer; is it still running?"; }
    setTimeout(follow, 1500);
  }
  setTimeout(follow, 1500);
})();
