/** What a command says about its desk operation beyond the operation's schema. */
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import type { Desk, DeskAnswer, DeskRequest } from '#src/cli/desk/desk-transport.ts';
import type { CommonOptions } from '../options.ts';

/** How a field of the input is written on the command line. */
export type FieldForm = {
  /** What the value looks like, in the usage; default: by the type of the field. */
  placeholder?: string;
  /** Description, where that of the schema does not fit a command line. */
  about?: string;
  /** Whether the flag may be left out although the schema requires the field. */
  isOptional?: boolean;
  /** Value that is sent when the flag is not given, in place of the schema's default. */
  fallback?: string;
  /** Makes the flag a switch that sends this value. */
  value?: string;
  /** Parses the text; `previous` is the value of the same flag before, when it is repeated. */
  parse?(text: string, previous?: unknown): unknown;
};

/** Options of a command, with the flags that only `complete` and `follow` read. */
export type VerbOptions = CommonOptions & { rotateSecret?: boolean; follow?: boolean };

/** A row of the table of verbs; every member is optional, because all of it can be derived. */
export type Verb<Request = object, Answer = object> = {
  /** Words of the command, where those derived from the operation's id do not read well. */
  words?: string;
  /** Fields given as arguments, in order; default: those in the path of the operation except the owner. */
  args?: readonly string[];
  fields?: { readonly [Field in keyof Request]?: FieldForm };
  /** Further flags and their descriptions, for `complete`. */
  flags?: Readonly<Record<string, string>>;
  /** Text below the flags; default: the guidance of the operation. */
  help?: string;
  /** Whether the command reads a list to its last page; otherwise it has --limit and --before. */
  readsAllPages?: boolean;
  /** Completes the input from the desk or from the terminal before it is sent. */
  complete?(
    desk: Desk,
    input: Partial<Request>,
    options: VerbOptions,
  ): Partial<Request> | Promise<Partial<Request>>;
  /** Notice on stderr before a result that scripts read from stdout. */
  notice?(answer: Answer): string;
  /** Shows progress until the answer arrives, and returns the answer. */
  awaitAnswer?(desk: Desk, request: Partial<Request>, answer: Promise<Answer>): Promise<Answer>;
  /** Whether --json prints each row of the list as a line of its own. */
  hasJsonRows?: boolean;
  /** With --follow: prints what comes after the answer, until the command is interrupted. */
  follow?(
    desk: Desk,
    request: Partial<Request>,
    about: { answer: Answer; options: VerbOptions },
  ): Promise<void>;
  /** Members of a list's rows that are shown, separated by spaces; default: those with plain values. */
  columns?: string;
  /** Text of the answer; default: its members by name, or a table. */
  text?(answer: Answer): string;
};

export type Verbs = {
  readonly [Id in DeskOperationId]?: Verb<DeskRequest<Id>, DeskAnswer<Id>>;
};
