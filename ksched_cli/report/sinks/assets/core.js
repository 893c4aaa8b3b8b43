"use strict";
// Texts of a cluster reach the page through `element` only, which makes text nodes of them.

const page = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || (value === false && !name.startsWith("aria-"))) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    else made.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return made;
}

function number(value) {
  return Number.isInteger(value) ? value.toLocaleString("en-US") : value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 4 : 2 });
}

function counted(value, what) {
  return `${number(value)} ${what}${value === 1 ? "" : "s"}`;
}

function percent(share) {
  return `${Math.round(100 * share)} %`;
}

function amount(value, unit) {
  if (unit === "milli") return value < 1000 ? `${number(value)}m` : `${number(Math.round(value / 10) / 100)}`;
  if (unit === "bytes") {
    const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let size = value;
    let at = 0;
    while (size >= 1024 && at + 1 < units.length) {
      size /= 1024;
      at += 1;
    }
    return `${number(Math.round(size * 10) / 10)}${units[at]}`;
  }
  return number(value);
}

// What sections send each other: "pod" (a detail, or null), "node" (its number).
const listeners = {};

function on(event, listener) {
  (listeners[event] ||= []).push(listener);
}

function emit(event, value) {
  for (const listener of listeners[event] || []) listener(value);
}

const live = document.getElementById("live");

function announce(text) {
  live.textContent = text;
}

const tip = document.getElementById("tip");

function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map((line) => element("p", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8));
  const below = y + 18 + box.height < innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(8, below ? y + 18 : y - box.height - 12)}px`;
}

function hideTip() {
  tip.hidden = true;
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
addEventListener("scroll", hideTip, { passive: true });

function tipOn(target, lines) {
  const show = (event) => {
    const box = target.getBoundingClientRect();
    showTip(lines, event.clientX || box.left + box.width / 2, event.clientY || box.bottom);
  };
  target.addEventListener("pointermove", show);
  target.addEventListener("pointerleave", hideTip);
  target.addEventListener("focus", show);
  target.addEventListener("blur", hideTip);
}

const styles = getComputedStyle(document.documentElement);
const isPrinting = matchMedia("print");

function colour(name) {
  return styles.getPropertyValue(`--${name}`).trim();
}

const SERIES = 8;
// The number of a section's drawing function by its kind; each file adds its own.
const DRAW = {};
