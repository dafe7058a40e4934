import { Http2Error } from "./frames.js";

/**
 * RFC 7541, appendix B: how many bits the code of each byte has, in base 36; the last is the end of the text. The code is
 * canonical: codes are counted up from the shortest, in the order of the bytes.
 */
const CODE_LENGTHS = [
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca",
  "d67777777777777777777777878djde6f56565666577666567655677777fbeds",
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn",
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq",
  "u",
].join("");

const END_OF_TEXT = 256;
const MAX_BITS = 30;

interface CodeTable {
  /** bytes in the order of their codes */
  readonly symbols: readonly number[];
  /** by length: the first code of that length, and where its byte is in `symbols` */
  readonly firstCode: readonly number[];
  readonly firstSymbol: readonly number[];
  readonly count: readonly number[];
}

/** Made when a compressed text first comes. */
let codeTable: CodeTable | undefined;

/** Each length is looked at once: the table is made while a first call waits for its answer. */
function makeTable(): CodeTable {
  const lengths = [...CODE_LENGTHS].map((digit) => Number.parseInt(digit, 36));
  const count = new Array<number>(MAX_BITS + 1).fill(0);
  for (const length of lengths) count[length] = (count[length] as number) + 1;
  const symbols = [...lengths.keys()].sort((one, other) => (lengths[one] as number) - (lengths[other] as number));
  const firstCode = [0];
  const firstSymbol = [0];
  for (let bits = 1; bits <= MAX_BITS; bits++) {
    const shorter = count[bits - 1] as number;
    firstCode.push(2 * ((firstCode[bits - 1] as number) + shorter));
    firstSymbol.push((firstSymbol[bits - 1] as number) + shorter);
  }
  return { symbols, firstCode, firstSymbol, count };
}

/** A header's text that was sent in Huffman's code; the last byte is filled up with ones. */
export function decodeHuffman(bytes: Buffer): string {
  codeTable ??= makeTable();
  const { symbols, firstCode, firstSymbol, count } = codeTable;
  let text = "";
  let code = 0;
  let bits = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      bits++;
      if (bits > MAX_BITS) throw new Http2Error("header text is in no code");
      const offset = code - (firstCode[bits] as number);
      if (offset < (count[bits] as number) && offset >= 0) {
        const symbol = symbols[(firstSymbol[bits] as number) + offset] as number;
        if (symbol === END_OF_TEXT) throw new Http2Error("header text ends too early");
        text += String.fromCharCode(symbol);
        code = 0;
        bits = 0;
      }
    }
  }
  // What is left must be the beginning of the code of the end: ones only.
  if (bits > 7 || code !== 2 ** bits - 1) throw new Http2Error("header text is not filled up with ones");
  return text;
}
