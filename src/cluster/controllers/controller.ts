import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import type { CertificateAuthority } from "../../staging/pki/issue.js";
import type { Authorizer } from "../../staging/server/authorization/authorizer.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";

/** The dependencies of every controller. */
export interface ControllerDeps {
  /** acts as this controller's service account */
  readonly client: LocalClient;
  readonly clock: Clock;
  readonly random: Random;
  /** decisions, states and recorded events, with actor `controller` (or `scheduler`) */
  readonly trace: Trace;
  /** `1.25`: selects the values in the table of facts */
  readonly kubeVersion: string;
  /** the cluster's CA: the signer's key and certificate */
  readonly ca: CertificateAuthority;
  /** answers SubjectAccessReviews for the CSR approver */
  readonly authorizer: Authorizer;
  /** `https://127.0.0.1:PORT`, for cluster-info */
  readonly serverUrl: string;
}

/** A control loop. `run` resolves when `signal` aborts, and leaves no timer behind. */
export interface Controller {
  /** upstream's name: `csrapproving`, `nodelifecycle`, `tokencleaner`, … */
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}
