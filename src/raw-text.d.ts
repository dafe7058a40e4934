/** `import text from "./main.tsx?bundle"`: a browser program with all that it imports, by esbuild (scripts/browser-bundle.mjs). */
declare module "*?bundle" {
  const text: string;
  export default text;
}
