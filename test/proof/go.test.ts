/** Checkpoints, tiles and proofs, checked by code that is not ours: Go's sumdb note and tlog. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkpointOf, markTree } from '#src/proof/notary.ts';
import { receiptsOf } from '#src/proof/receipts.ts';
import { randomHistory } from '../support/audit/random-history.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

/** Where the package golang-golang-x-mod-dev is, or the GOPATH. */
const { stdout: goPath } = spawnSync('go', ['env', 'GOPATH'], { encoding: 'utf8' });
const MODULES = [goPath?.trim() ?? '', '/usr/share/gocode'].map((path) =>
  join(path, 'src/golang.org/x/mod'),
);
const X_MOD = MODULES.find((path) => existsSync(path));
const hasGo = X_MOD !== undefined && spawnSync('go', ['version']).status === 0;
const IN_GO = hasGo
  ? 'with golang.org/x/mod'
  : 'with golang.org/x/mod (skipped: no go, or no package golang-golang-x-mod-dev)';

/** Reads the checkpoint, and answers for each file of a receipt and for each pair of tiles what Go finds. */
const PROGRAM = `package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must(err error) {
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}

func open(text, key string) tlog.Tree {
	verifier, err := note.NewVerifier(key)
	must(err)
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	must(err)
	lines := strings.Split(opened.Text, "\\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	root, err := tlog.ParseHash(lines[2])
	must(err)
	return tlog.Tree{N: size, Hash: root}
}

type files struct{ directory string }

func (f files) Height() int { return 8 }
func (f files) SaveTiles(_ []tlog.Tile, _ [][]byte) {}
func (f files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range tiles {
		data, err := os.ReadFile(fmt.Sprintf("%s/%d-%d", f.directory, tile.L, tile.N))
		if err != nil {
			return nil, err
		}
		all = append(all, data[:tile.W*tlog.HashSize])
	}
	return all, nil
}

func main() {
	key, directory := os.Args[1], os.Args[2]
	for _, path := range os.Args[3:] {
		data, err := os.ReadFile(path)
		must(err)
		parts := strings.SplitN(string(data), "\\n\\n", 2)
		tree := open(parts[1], key)
		lines := strings.Split(parts[0], "\\n")
		leaf, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
		must(err)
		index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
		must(err)
		var proof tlog.RecordProof
		for _, line := range lines[3:] {
			hash, err := tlog.ParseHash(line)
			must(err)
			proof = append(proof, hash)
		}
		must(tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(leaf)))
		reader := tlog.TileHashReader(tree, files{directory})
		hashes, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
		must(err)
		if hashes[0] != tlog.RecordHash(leaf) {
			must(fmt.Errorf("the tile has another leaf %d", index))
		}
	}
	fmt.Println("verified", len(os.Args)-3)
}
`;

let app: TestApp;
let directory: string;
beforeAll(async () => {
  if (!X_MOD || !hasGo) return;
  directory = mkdtempSync(join(tmpdir(), 'tributary-go-'));
  const module = join(directory, 'src/check');
  mkdirSync(module, { recursive: true });
  cpSync(X_MOD, join(directory, 'src/golang.org/x/mod'), { recursive: true, dereference: true });
  writeFileSync(join(module, 'main.go'), PROGRAM);
  const env = [`GOPATH=${directory}`, 'GO111MODULE=off', `GOCACHE=${join(directory, 'cache')}`];
  execFileSync('env', [...env, 'go', 'build', '-o', join(directory, 'check'), 'check']);
  app = await testApp();
  const history = await randomHistory(app, 'acme', 6);
  for (let act = 0; act < 60; act += 1) await history.act();
  await app.service.deps.audit.flush();
  await markTree({ ...app.service.deps.proof(), ...app.service.deps });
}, 300_000);
afterAll(async () => {
  if (!hasGo) return;
  await app.close();
  rmSync(directory, { recursive: true });
});

const check = (...paths: string[]) => {
  const key = app.service.deps.proof().signers[0].text;
  const { status, stdout } = spawnSync(join(directory, 'check'), [key, directory, ...paths]);
  return { status, stdout: stdout.toString() };
};

describe.skipIf(!hasGo)(`Proofs, ${IN_GO}`, () => {
  it('Go verifies the checkpoint, the tiles and the proof of each event, and refuses an altered proof', async () => {
    const deps = app.service.deps.proof();
    const { newest } = deps.tree;
    if (!newest) throw new Error('there is no mark');
    expect(checkpointOf(deps, newest)).toContain(`\n${newest.size}\n`);
    for (
      let level = 0, hashes = newest.size;
      hashes > 0;
      level += 1, hashes = Math.floor(hashes / 256)
    )
      for (let number = 0; number * 256 < hashes; number += 1) {
        const width = Math.min(256, hashes - number * 256);
        writeFileSync(
          join(directory, `${level}-${number}`),
          deps.tree.tile(level, number, width) ?? '',
        );
      }
    const events = await app.service.deps.log.readAll({ after: 0, limit: 200 });
    const paths = receiptsOf(deps, events).map(({ proof = '' }, at) => {
      const path = join(directory, `${at}.tlog-proof`);
      writeFileSync(path, proof);
      return path;
    });
    expect(check(...paths)).toEqual({ status: 0, stdout: `verified ${paths.length}\n` });
    const [first] = receiptsOf(deps, events);
    const altered = join(directory, 'altered');
    for (const change of [
      (text: string) => text.replace(/index \d+/, 'index 1'),
      (text: string) => text.replace(/extra .{8}/, 'extra AAAAAAAA'),
      (text: string) => text.replace(/\n(\d+)\n/, (_all, size) => `\n${Number(size) + 1}\n`),
    ]) {
      writeFileSync(altered, change(first?.proof ?? ''));
      expect(check(altered)).toMatchObject({ status: 1 });
    }
  });
});
