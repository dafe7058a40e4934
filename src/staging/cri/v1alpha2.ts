import type { DecodedFields, FieldTable, InitFields } from "../apimachinery/protobuf/fields.js";
import type { CriChannel } from "./client.js";
import type { Rpc, StreamRpc, UnaryRpc } from "./grpc/rpc.js";
import { v1alpha2Of } from "./grpc/rpc.js";
import type { CallOptions } from "./grpc/running-call.js";
import type { RpcResult } from "./grpc/status.js";

/**
 * A channel to a runtime that only has CRI v1alpha2: each call becomes the same call of that version.
 *
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (useV1API) at v1.25.
 * Differs: the runtime answers Unimplemented for what v1alpha2 lacks; the kubelet's client knows these calls itself.
 */
export class V1alpha2Channel implements CriChannel {
  /** by call of v1; a channel keeps the codec of each */
  readonly #old = new Map<object, object>();

  constructor(readonly channel: CriChannel) {}

  get endpoint(): CriChannel["endpoint"] {
    return this.channel.endpoint;
  }

  get causes(): CriChannel["causes"] {
    return this.channel.causes;
  }

  call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): Promise<RpcResult<DecodedFields<Res>>> {
    return this.channel.call(this.#oldOf(rpc), request, options);
  }

  stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): AsyncGenerator<DecodedFields<Res>> {
    return this.channel.stream(this.#oldOf(rpc), request, options);
  }

  #oldOf<R extends Rpc<FieldTable, FieldTable>>(rpc: R): R {
    let old = this.#old.get(rpc) as R | undefined;
    if (old === undefined) {
      old = v1alpha2Of(rpc);
      this.#old.set(rpc, old);
    }
    return old;
  }

  close(): Promise<void> {
    return this.channel.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
