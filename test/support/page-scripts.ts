/** Scripts that run in a browser page: as texts, because there is no `document` in the type check. */

/** Whether a page needs horizontal scrolling, and which elements stick out. */
export const FITS = `() => {
  const room = document.documentElement.clientWidth;
  const outside = [...document.querySelectorAll("button, td, .text")]
    .filter((node) => node.getBoundingClientRect().right > room)
    .map((node) => node.textContent);
  return { isScrolled: document.documentElement.scrollWidth > room, outside };
}`;

/** A form that posts to another origin, as any page can create. */
export const POST_FORM = `(action) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action });
  document.body.append(form);
  form.submit();
}`;

/** WCAG's contrast of each selector's first text and its background; 0 if nothing matches. */
export const CONTRASTS = `(selectors) => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((one) => {
      const part = one / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return selectors.map((selector) => {
    const node = document.querySelector(selector);
    if (node === null) return [selector, 0];
    const behind = [];
    for (let at = node; at !== null; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    behind.unshift(matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff");
    const both = [luminance(behind), luminance([...behind, getComputedStyle(node).color])];
    return [selector, (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05)];
  });
}`;
