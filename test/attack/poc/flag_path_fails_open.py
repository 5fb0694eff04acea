#!/usr/bin/env python3
"""A pii_flags path that does not meet its member (case, NFC/NFD, dotted key, a slip) must hide the value: it is refused at
write, and an item that an older version took is shown without it. Needs nats-py.
usage: flag_path_fails_open.py SATCHEL_BINARY [PORT] [OLDER_BINARY]    Exit code 1 while a flagged value is shown or taken."""
import asyncio, json, os, re, signal, socket, subprocess, sys, tempfile, time

import nats

binary, port = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 44411
older = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
home = tempfile.mkdtemp(prefix='attack-')
CASES = (
    ('case', {'Pin': 'CANARYcase', 't': 'quirk orchard one'}, '$.content.pin'),
    ('dot', {'a.b': 'CANARYdot', 't': 'quirk orchard two two'}, '$.content.a.b'),
    ('nfd', {'pe\u0301n': 'CANARYnfd', 't': 'quirk orchard three three three'}, '$.content.p\u00e9n'),
    ('slip', {'diagnosis': 'CANARYslip', 't': 'quirk orchard four four'}, '$.content.diagnose'),
    ('list', [{'pin': 'x'}, {'Pin': 'CANARYlist', 't': 'quirk orchard five'}], '$.content[*].pin'),
    ('deep', {'who': {'Sozialnr': 'CANARYdeep'}, 't': 'quirk orchard six'}, '$.content.who.sozialnr'),
    ('index', {'pins': ['CANARYindex'], 't': 'quirk orchard seven'}, '$.content.pins[1]'),
    ('wide', {'\uff50in': 'CANARYwide', 't': 'quirk orchard eight'}, '$.content.pin'),
)
WHO = {'id': 'a', 'securityLevel': 'internal'}
DOORS = (
    ('request', {'meta': {'type': 'ContextRequest', 'from': WHO}, 'payload': {'query': {'text': 'quirk orchard'}, 'token_budget': 2000}}),
    ('search', {'from': WHO, 'query': 'quirk orchard'}), ('build', {'from': WHO, 'query': 'quirk orchard'}),
    ('assemble', {'from': WHO, 'query': 'quirk orchard', 'min_score': 0}),
)


async def ask(nc, subject, body):
    for _ in range(200):
        try:
            return json.loads((await nc.request(subject, json.dumps(body).encode(), timeout=20)).data)
        except nats.errors.NoRespondersError:  # it still starts
            await asyncio.sleep(.1)
    raise SystemExit('nobody answers ' + subject)


async def write(nc):
    """Returns what was taken, or refused without its pointer."""
    taken = []
    for id, content, path in CASES:
        item = dict(id=id, type='semantic', kind='memory', scope={'tenant': 'main'}, created_at='2026-03-03T10:00:00Z',
                    security_label=['level:internal'], content=content, pii_flags=[path])
        event = {'specversion': '1.0', 'id': 'e-' + id, 'source': 's', 'type': 'io.satchel.memory.recorded.v1', 'datacontenttype': 'application/json', 'data': item}
        r = await ask(nc, 'mem.v1.main.put', {'agent': 'w', 'wait': 'indexed', 'event': event})
        if r.get('level') or r.get('field') != '/data/pii_flags/0' or 'CANARY' in json.dumps(r):
            taken.append(id)
    return taken


async def read(nc):
    return [(door, value) for door, body in DOORS for value in sorted(set(re.findall(r'CANARY\w+', json.dumps(await ask(nc, 'ctx.v1.main.' + door, body)))))]


def run(program, main):
    env = dict(os.environ, SATCHEL_DIR=home + '/data', NATS_PORT=str(port), HTTP_ADDR='')
    with open(home + '/stderr', 'ab') as err:
        p = subprocess.Popen([program, 'up'], env=env, stdout=err, stderr=err)
    try:
        for _ in range(300):
            try:
                socket.create_connection(('127.0.0.1', port), 1).close()
                break
            except OSError:
                time.sleep(.1)
        time.sleep(1)

        async def go():
            nc = await nats.connect('nats://127.0.0.1:%d' % port)
            try:
                return await main(nc)
            finally:
                await nc.close()
        return asyncio.run(go())
    finally:
        p.send_signal(signal.SIGTERM)
        p.wait(60)


if older:
    print('an older version took', run(older, write))
taken = [] if older else run(binary, write)
shown = run(binary, read)
for t in taken:
    print('taken', t)
for door, value in shown:
    print('shown by', door, value)
sys.exit(1 if taken or shown else 0)
