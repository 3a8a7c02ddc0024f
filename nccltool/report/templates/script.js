"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (text, event) => {
    tip.textContent = text;
    tip.hidden = !text;
    if (!text) return;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const y = event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18;
    tip.style.setProperty("left", `${Math.max(x, 4)}px`);
    tip.style.setProperty("top", `${Math.max(y, 4)}px`);
  };
  const distance = (box, event) => Math.hypot(
    Math.max(box.left - event.clientX, 0, event.clientX - box.right),
    Math.max(box.top - event.clientY, 0, event.clientY - box.bottom));
  const nearest = (svg, event) => {
    let best = null, least = 40;
    for (const mark of svg.querySelectorAll(".mark-symbol [aria-label], .mark-rect [aria-label], .mark-point [aria-label]")) {
      const far = distance(mark.getBoundingClientRect(), event);
      if (far < least) [best, least] = [mark, far];
    }
    return best ? best.getAttribute("aria-label") : "";
  };
  const maps = new Map();
  const cellAt = (svg, event) => {
    if (!maps.has(svg)) maps.set(svg, JSON.parse(svg.closest("figure").querySelector(".cells-of").textContent));
    const data = maps.get(svg), box = svg.querySelector("rect").getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / box.height * data.rows.length);
    const column = Math.floor((event.clientX - box.left) / box.width * data.columns.length);
    const cells = data.cells[row];
    if (!cells || column < 0 || column >= data.columns.length) return "";
    let share = null;
    for (let at = 0; at < cells.length; at += 2) if (cells[at] === column) share = cells[at + 1];
    const said = share === null ? "not measured" : `${share} % of the healthy speed`;
    return data.rows[row] === data.columns[column] ? data.rows[row] : `${data.rows[row]} with ${data.columns[column]}: ${said}`;
  };
  for (const svg of document.querySelectorAll(".picture svg")) {
    const text = svg.classList.contains("matrix") ? cellAt : nearest;
    svg.addEventListener("pointermove", event => show(text(svg, event), event));
    svg.addEventListener("pointerdown", event => show(text(svg, event), event));
    svg.addEventListener("pointerleave", event => show("", event));
  }
  const unfold = () => {
    const part = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (part && part.tagName === "DETAILS") part.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.manual, details.fold")].filter(part => !part.open);
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of folded) part.open = false; });
  addEventListener("keydown", event => { if (event.key === "Escape") show("", event); });
})();
