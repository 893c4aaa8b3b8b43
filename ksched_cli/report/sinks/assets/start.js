// The map listens to the pods, so that it is drawn before them.

const started = Object.entries(page.kinds).sort(([, a], [, b]) => (b === "map") - (a === "map"));
for (const [name, kind] of started) DRAW[kind](document.getElementById(name).querySelector(".mount"), page.sections[name], name);
// A frame of a notebook has no clipboard.
for (const code of navigator.clipboard ? document.querySelectorAll("code.copied") : []) {
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    announce("copied");
  });
  code.after(" ", button);
}
document.documentElement.dataset.ready = "true";
globalThis.readyAt = performance.now();
