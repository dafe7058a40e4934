/** `import text from "./page.html?raw"`: a file's text. Vite provides it for tests, scripts/bundle.mjs for the program. */
declare module "*?raw" {
  const text: string;
  export default text;
}
