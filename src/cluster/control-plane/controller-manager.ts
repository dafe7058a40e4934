import { electionIdentity } from "../../staging/client-go/leaderelection/identity.js";
import type { CertificateAuthority } from "../../staging/pki/issue.js";
import type { UserInfo } from "../../staging/server/authentication/user.js";
import type { Turns } from "../../util/async/turns.js";
import { defined } from "../../util/defined.js";
import { authorizedClient } from "../apiserver/auth/authorized-client.js";
import type { Auth } from "../apiserver/auth/create-auth.js";
import { bindingHandler } from "../apiserver/registry/core/pods/binding.js";
import { createLocalClient } from "../apiserver/registry/generic/local-client.js";
import type { Registry } from "../apiserver/registry/rest/registry.js";
import type { Storage } from "../apiserver/storage/storage.js";
import { createBinder } from "./binder.js";
import { type RunningControllers, startControllers } from "./components.js";
import type { ControlPlaneOptions } from "./control-plane.js";

/** in `withoutControllers`: start no controller */
const ALL = "*";

interface ControllerManagerDeps {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly authorizer: Auth["authorizer"];
  readonly turns: Turns;
}

/**
 * Starts the controllers and the scheduler. Several servers of one etcd elect those whose controllers run; what a
 * cluster in memory does not need is not loaded.
 * @returns undefined when the options ask for no controller
 */
export async function startControllerManager(
  options: ControlPlaneOptions & { readonly serverId: string },
  ca: CertificateAuthority,
  { storage, registry, authorizer, turns }: ControllerManagerDeps,
  serverUrl: string,
): Promise<RunningControllers | undefined> {
  const { clock, random, trace, kubeVersion, withoutControllers, clusterSigningDurationMs } = options;
  if (withoutControllers?.includes(ALL) === true) return undefined;
  const { definitions } = registry;
  const authorization = { registry, authorizer, trace, turns };
  const clientFor = (user: UserInfo, own = trace) =>
    authorizedClient(createLocalClient(registry, user), { ...authorization, trace: own });
  const binderFor = (user: UserInfo) => createBinder({ ...authorization, handler: bindingHandler(clock) }, user);
  const base = {
    clock,
    random,
    trace,
    kubeVersion,
    ca,
    authorizer,
    serverUrl,
    definitions,
    onDefinitions: registry.onChange,
  };
  const deps = { ...base, clientFor, binderFor };
  const controllersOptions = {
    // A storage with leases deletes events itself.
    without: [...(withoutControllers ?? []), ...(storage.hasLeases ? ["event-ttl"] : [])],
    ...defined({ clusterSigningDurationMs }),
  };
  if (options.etcd === undefined) return startControllers(deps, controllersOptions);
  const { startElectedControllers } = await import("./elected-controllers.js");
  return startElectedControllers(deps, electionIdentity(options.serverId), controllersOptions);
}
