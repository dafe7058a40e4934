import { compileDecoder } from "./decode.js";
import { compileEncoder } from "./encode.js";
import { type Decode, type DecodedFields, type Encode, Encoded, type FieldTable, type InitFields } from "./fields.js";
import { Reader } from "./reader.js";
import { Writer } from "./writer.js";

const SPARE_BYTES = 8;

/**
 * One message type: a table of fields, and the encoder and decoder made from it when they are first needed.
 *
 * A projection is another Message for the same bytes with fewer rows: what it does not name is skipped, not decoded.
 */
export class Message<F extends FieldTable> {
  #decode: Decode | undefined;
  #encode: Encode | undefined;
  #lastSize = 0;

  constructor(
    readonly name: string,
    readonly fields: F,
  ) {}

  /** @throws ProtobufError for bytes that are no message of any kind */
  decode(bytes: Buffer): DecodedFields<F> {
    return this.decoder(new Reader(bytes), undefined) as DecodedFields<F>;
  }

  encode(value: InitFields<F>): Buffer {
    const writer = new Writer(this.#lastSize);
    this.encoder(writer, value);
    // The next one is probably as long: a list of eight megabytes is then written without growing.
    this.#lastSize = writer.length + (writer.length >> 3) + SPARE_BYTES;
    return writer.finish();
  }

  /** Encodes once what will be part of many messages. */
  encoded(value: InitFields<F>): Encoded {
    const writer = new Writer();
    this.encoder(writer, value);
    return new Encoded(Buffer.from(writer.finish()));
  }

  /** The value with every field present, as if it had been sent and decoded. */
  create(value: InitFields<F>): DecodedFields<F> {
    return this.decode(this.encode(value));
  }

  /** A projection on some of the fields. */
  pick<K extends keyof F & string>(...names: readonly K[]): Message<Pick<F, K>> {
    const picked = Object.fromEntries(names.map((name) => [name, this.fields[name]])) as unknown as Pick<F, K>;
    return new Message(this.name, picked);
  }

  get decoder(): Decode {
    this.#decode ??= compileDecoder(this.fields);
    return this.#decode;
  }

  get encoder(): Encode {
    this.#encode ??= compileEncoder(this.fields);
    return this.#encode;
  }
}

/** Describes a message by its fields. @param name as the .proto file writes it */
export function message<F extends FieldTable>(name: string, fields: F): Message<F> {
  return new Message(name, fields);
}
