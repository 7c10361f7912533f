// A list of any length in a box of its own: only the rows near the screen exist. One stop of the tab key; arrows walk.
function caseList(box, height, fill, choose) {
  const space = box.firstElementChild, SPARE = 6;
  let entries = [], at = -1;
  const id = (place) => box.id + "-" + place;

  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / height) - SPARE);
    const last = Math.min(entries.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + SPARE);
    const rows = [];
    for (let place = first; place < last; place++) {
      const row = document.createElement("div");
      row.id = id(place);
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", place === at);
      row.setAttribute("aria-posinset", place + 1);
      row.setAttribute("aria-setsize", entries.length);
      row.style.top = place * height + "px";
      row.style.height = height + "px";
      row.dataset.place = place;
      fill(row, entries[place]);
      rows.push(row);
    }
    space.replaceChildren(...rows);
    if (at >= first && at < last) box.setAttribute("aria-activedescendant", id(at)); else box.removeAttribute("aria-activedescendant");
  }
  function select(place) {
    at = Math.min(Math.max(place, 0), entries.length - 1);
    if (at * height < box.scrollTop) box.scrollTop = at * height;
    else if ((at + 1) * height > box.scrollTop + box.clientHeight) box.scrollTop = (at + 1) * height - box.clientHeight;
    draw();
    choose(at < 0 ? undefined : entries[at]);
  }
  box.addEventListener("scroll", draw);
  addEventListener("resize", draw);
  box.addEventListener("click", function (event) {
    const row = event.target.closest("[data-place]");
    if (row) select(+row.dataset.place);
  });
  box.addEventListener("keydown", function (event) {
    const screen = Math.max(1, Math.floor(box.clientHeight / height) - 1);
    const move = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + screen, PageUp: at - screen, Home: 0, End: entries.length - 1 }[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    select(move);
  });
  return {
    // Shows these entries, the one that is given chosen; else the first.
    show(several, chosen) {
      entries = several;
      space.style.height = entries.length * height + "px";
      box.scrollTop = 0;
      select(Math.max(0, chosen === undefined ? 0 : entries.indexOf(chosen)));
    },
  };
}
