const PLAIN = /^[A-Za-z0-9+/]*={0,2}$/;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The canonical base64 of what a text encodes: without line breaks, unused bits zero.
 * @returns undefined when it is not base64; `base64Error` says where
 */
export function canonicalBase64(text: string): string | undefined {
  if (text.length % 4 === 0 && PLAIN.test(text)) {
    if (!text.endsWith("=")) return text;
    const last = ALPHABET.indexOf(text[text.length - (text.endsWith("==") ? 3 : 2)] ?? "");
    const unusedBits = text.endsWith("==") ? 0b1111 : 0b11;
    return (last & unusedBits) === 0 ? text : Buffer.from(text, "base64").toString("base64");
  }
  return corruptAt(text) === undefined
    ? Buffer.from(text.replace(/[\r\n]/g, ""), "base64").toString("base64")
    : undefined;
}

/** In Go's words. */
export function base64Error(text: string): string {
  return `illegal base64 data at input byte ${corruptAt(text) ?? 0}`;
}

/** Mirrors decodeQuantum in Go's encoding/base64: the offset that a CorruptInputError names. */
function corruptAt(text: string): number | undefined {
  let at = 0;
  const skipBreaks = () => {
    while (text[at] === "\n" || text[at] === "\r") at++;
  };
  for (;;) {
    for (let inQuantum = 0; inQuantum < 4; ) {
      skipBreaks();
      const char = text[at];
      if (char === undefined) return inQuantum === 0 ? undefined : at - inQuantum;
      at++;
      if (ALPHABET.includes(char)) {
        inQuantum++;
        continue;
      }
      if (char !== "=" || inQuantum < 2) return at - 1;
      if (inQuantum === 2) {
        skipBreaks();
        if (at === text.length) return text.length;
        if (text[at] !== "=") return at - 1;
        at++;
      }
      skipBreaks();
      return at < text.length ? at : undefined;
    }
  }
}
