import type { KubeletConfiguration } from "../../kubelet/apis/config/defaults.js";
import { shutdownPeriods } from "../../kubelet/nodeshutdown/groups.js";
import type { NodeContext } from "../../testbed/context.js";
import type { RunningNode } from "../../testbed/node/node.js";
import { onAbort } from "../../util/async/abort.js";
import type { CliContext } from "../cli/context.js";

/**
 * Handles Ctrl-C and SIGTERM of a node: with a shutdownGracePeriod it runs until its pods have ended, otherwise it ends
 * at once. A signal during the start ends the start.
 */
export class NodeLife implements Disposable {
  readonly #end = new AbortController();
  readonly #listener: Disposable;
  readonly #isGraceful: boolean;
  #hasStarted = false;

  constructor(
    readonly cli: CliContext,
    config: KubeletConfiguration,
  ) {
    this.#isGraceful = shutdownPeriods(config).length > 0;
    this.#listener = onAbort(cli.signal, () => {
      if (!this.#isGraceful || !this.#hasStarted) this.#end.abort(cli.signal.reason);
    });
  }

  /** Aborts when the node must end. */
  get context(): NodeContext {
    const { cli } = this;
    return {
      random: cli.random,
      signal: this.#end.signal,
      confirm: (question, options) => cli.confirm(question, options),
      progress: (text) => cli.progress(text),
    };
  }

  /** Runs `body`, which ends with the program's signal; then shuts the node down. */
  async stay(node: RunningNode, body: () => Promise<void>): Promise<void> {
    this.#hasStarted = true;
    try {
      await body();
    } finally {
      const { signal } = this.cli;
      if (signal.aborted) await node.kubelet.kubelet.shutdownManager.shutDown(this.#end.signal);
    }
  }

  [Symbol.dispose](): void {
    this.#listener[Symbol.dispose]();
  }
}
