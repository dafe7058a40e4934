/** `import text from "./page.html?raw"`: a file's text. Vite provides it for tests, scripts/bundle.mjs for the program. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** `import text from "./main.tsx?bundle"`: a browser program with all that it imports, by esbuild (scripts/bundle.mjs). */
declare module "*?bundle" {
  const text: string;
  export default text;
}
