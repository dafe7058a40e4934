import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { LabError } from "../../util/errors.js";
import type { TraceEvent } from "../events.js";
import type { TraceGraph } from "../graph/graph.js";
import type { TraceSink } from "../trace.js";
import { cannotWrite, NdjsonSink } from "./ndjson.js";

/** Makes the text of a file from all facts, piece by piece. */
export type RenderTrace = (graph: TraceGraph) => Iterable<string> | AsyncIterable<string>;

/** Pieces below this size are written together. */
const BLOCK_CHARACTERS = 64 * 1024;

/**
 * A trace file that can only be written when all facts are known, such as a diagram. Until then the facts are kept in
 * `FILE.ndjson`, which stays if the run is killed or the file cannot be written.
 */
export class ConvertedSink implements TraceSink {
  readonly #facts: NdjsonSink;
  #fd: number | undefined;

  /**
   * @param load called at the end, because no other part of a run needs the code
   * @throws LabError BAD_FILE if a file cannot be opened; checked before anything else happens
   */
  constructor(
    readonly path: string,
    readonly load: () => Promise<RenderTrace>,
  ) {
    this.#fd = openForWriting(path);
    this.#facts = new NdjsonSink(`${path}.ndjson`);
  }

  write(event: TraceEvent): void {
    this.#facts.write(event);
  }

  /** @throws LabError BAD_FILE if the file is incomplete */
  async close(): Promise<void> {
    const fd = this.#fd;
    if (fd === undefined) return;
    this.#fd = undefined;
    try {
      await this.#facts.close();
      const [{ readTrace }, { TraceGraph: Graph }, render] = await Promise.all([
        import("./read-trace.js"),
        import("../graph/graph.js"),
        this.load(),
      ]);
      const { events } = await readTrace(this.#facts.path);
      await writePieces(this.path, fd, render(Graph.of(events)));
    } catch (cause) {
      if (!(cause instanceof LabError)) throw cause;
      const hint = `The facts are in ${this.#facts.path}: kubelab trace convert ${this.#facts.path} -o ${this.path}`;
      throw new LabError(cause.code, cause.message, hint, { cause });
    } finally {
      closeSync(fd);
    }
    rmSync(this.#facts.path, { force: true });
  }
}

/** Writes a whole file from facts that are all known. @throws LabError BAD_FILE */
export async function writeTraceFile(path: string, render: RenderTrace, graph: TraceGraph): Promise<void> {
  const fd = openForWriting(path);
  try {
    await writePieces(path, fd, render(graph));
  } finally {
    closeSync(fd);
  }
}

function openForWriting(path: string): number {
  try {
    return openSync(path, "w", 0o600);
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

async function writePieces(path: string, fd: number, pieces: Iterable<string> | AsyncIterable<string>): Promise<void> {
  const write = (text: string) => {
    try {
      for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(fd, rest));
    } catch (cause) {
      throw cannotWrite(path, cause);
    }
  };
  let block = "";
  for await (const piece of pieces) {
    block += piece;
    if (block.length < BLOCK_CHARACTERS) continue;
    write(block);
    block = "";
  }
  write(block);
}
