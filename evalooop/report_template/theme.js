"use strict";
// Light or dark: as the system says until the reader chooses; the choice is kept where the browser lets a page keep it.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();

  function kept(value) {
    try {
      if (value) localStorage.setItem("evalooop-theme", value);
      return localStorage.getItem("evalooop-theme");
    } catch {
      return null;
    }
  }

  // Figures are images, which see the system's scheme only: their own condition is replaced by the reader's choice.
  function paint(image, theme) {
    if (!drawn.has(image)) drawn.set(image, image.src);
    const [head, body] = drawn.get(image).split(",");
    const svg = atob(body).replace("@media (prefers-color-scheme:dark)", theme === "dark" ? "@media all" : "@media not all");
    image.src = `${head},${btoa(svg)}`;
  }

  function show(theme) {
    const dark = theme ? theme === "dark" : system.matches;
    if (theme) {
      root.dataset.theme = theme;
      for (const image of document.querySelectorAll("figure img")) paint(image, theme);
    }
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page in ${dark ? "light" : "dark"} colours`);
  }

  button.hidden = false;
  button.addEventListener("click", () => {
    const theme = button.textContent.toLowerCase();
    kept(theme);
    show(theme);
  });
  system.addEventListener("change", () => show(kept()));
  show(kept());
})();
