// The map listens to the pods, so that it is drawn before them.

const started = Object.entries(page.kinds).sort(([, a], [, b]) => (b === "map") - (a === "map"));
for (const [name, kind] of started) DRAW[kind](document.getElementById(name).querySelector(".mount"), page.sections[name], name);
document.documentElement.dataset.ready = "true";
globalThis.readyAt = performance.now();
