#!/usr/bin/env python3
"""A registered principal, with its own key, tries to hear, read, take over and act for another principal of another tenant;
so does a connection without a key. Needs nats-py and nkeys.
usage: inbox_heard.py SATCHEL_BINARY [PORT] [BOSS BANK GUEST MAIN]    Exit code 1 while any of it works, 0 when none does."""
import asyncio, base64, json, os, signal, subprocess, sys, tempfile, time

import nats
import nkeys

binary = os.path.abspath(sys.argv[1])
port = int(sys.argv[2]) if len(sys.argv) > 2 else 44413
boss, bank, guest, main_ = (sys.argv[3:] + ['boss', 'bank', 'guest', 'main'][len(sys.argv[3:]):])[:4]
secret = 'CANARYvault'
home = tempfile.mkdtemp(prefix='atk-')
env = dict(os.environ, SATCHEL_DIR=home + '/data', NATS_PORT=str(port), HTTP_ADDR='', SATCHEL_PRINCIPALS=home + '/principals.yaml',
           SCS_MAX_TOKENS_DEFAULT='10000000', SCS_MAX_BYTES_DEFAULT='100000000')  # so that a reply can be large
url = 'nats://127.0.0.1:%d' % port
open_holes = []


def cli(*args):
    return subprocess.run([binary, *args], env=env, capture_output=True, text=True, timeout=60)


def hole(what, works):
    print('OPEN  ' if works else 'closed', what)
    if works:
        open_holes.append(what)


def seed(tenant, name):
    return open('%s/data/keys/principals/%s/%s.nk' % (home, tenant, name)).read()


async def quiet(_):
    pass


def connect(key=None, prefix='_INBOX'):
    return nats.connect(url, nkeys_seed_str=key, inbox_prefix=prefix, error_cb=quiet, allow_reconnect=False, connect_timeout=5)


async def ask(nc, subject, body, timeout=5):
    """The reply as text; '' when nobody answers or the connection may not."""
    try:
        m = await nc.request(subject, body if isinstance(body, bytes) else json.dumps(body).encode(), timeout=timeout)
        return (m.headers or {}).get('Status', '') + m.data.decode(errors='replace')
    except Exception:
        return ''


def event(tenant, id_, content):
    return {'specversion': '1.0', 'id': id_, 'source': 's', 'type': 'io.satchel.memory.recorded.v1', 'datacontenttype': 'application/json',
            'data': {'id': id_, 'type': 'semantic', 'kind': 'memory', 'scope': {'tenant': tenant}, 'created_at': '2026-03-03T10:00:00Z',
                     'security_label': ['level:restricted'], 'content': content}}


def request(id_, question):
    return {'meta': {'type': 'ContextRequest', 'from': {'id': id_, 'securityLevel': 'restricted'}}, 'payload': {'query': {'text': question}, 'token_budget': 2000}}


async def listen(nc, subjects, heard):
    async def cb(m):
        heard.append((m.subject, m.data, dict(m.headers or {})))
    for s in subjects:
        try:
            await nc.subscribe(s, cb=cb)
        except Exception:
            pass
    try:
        await nc.flush()
    except Exception:
        pass


async def attack():
    everything = ['_INBOX.>', '_INBOX_%s.>' % boss, '>', '*.>', '_R_.>', '_SATCHEL.>', 'ctx.v1.>', 'mem.v1.>', 'log.v1.>', 'art.v1.>', 'prov.v1.>', '$JS.>']
    heard = []
    for key, what in ((None, 'a connection without a key'), (nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER).decode(), 'a connection with a key of its own')):
        try:
            nc = await connect(key)
            await listen(nc, everything, heard)
            hole(what, True)
        except Exception:
            hole(what, False)
    spy, victim = await connect(seed(main_, guest)), await connect(seed(bank, boss), '_INBOX_' + boss)
    await listen(spy, everything, heard)

    # Replies on the way to another.
    put = await ask(victim, 'mem.v1.%s.put' % bank, {'agent': boss, 'wait': 'indexed', 'event': event(bank, 'm1', secret + ' code of the bank')}, 20)
    pack = await ask(victim, 'ctx.v1.%s.request' % bank, request(boss, 'vault code'), 20)
    if '"indexed"' not in put or secret not in pack:
        raise SystemExit('the victim itself gets nothing: %s %s' % (put, pack))
    await asyncio.sleep(1)
    hole('hear the replies to another principal', any(secret.encode() in d for _, d, _ in heard))
    hole('hear the ledger of another tenant', any(('.%s.' % bank) in s for s, _, _ in heard))

    # Asking there, or as another.
    own = {'agent': guest, 'wait': 'indexed', 'event': event(main_, 'g1', 'the guest writes')}
    if '"indexed"' not in await ask(spy, 'mem.v1.%s.put' % main_, own, 20):
        raise SystemExit('the guest itself cannot write')
    for subject in ('ctx.v1.%s.request' % bank, 'ctx.v1.%s.search' % bank, '_SATCHEL.v1.as.%s.ctx.v1.%s.request' % (boss, bank), '_SATCHEL.v1.as.%s.ctx.v1.%s.request' % (guest, bank)):
        hole('ask on ' + subject, await ask(spy, subject, request(boss, 'vault code')) != '')
    hole('ask as a principal of another tenant', 'policy_denied' not in await ask(spy, 'ctx.v1.%s.request' % main_, request(boss, 'vault code')))
    hole('ask as another principal of the tenant', 'policy_denied' not in await ask(spy, 'ctx.v1.%s.request' % main_, request('other', 'vault code')))
    hole('write as another principal', 'policy_denied' not in await ask(spy, 'mem.v1.%s.put' % main_, {'agent': 'other', 'event': event(main_, 'g2', 'x')}))
    for subject in ('mem.v1.%s.evt.%s' % (bank, guest), 'mem.v1.%s.evt.other' % main_, 'mem.v1.%s.evt.%s' % (bank, boss)):
        hole('publish on ' + subject, '"stream"' in await ask(spy, subject, b'x'))
    store = {'from': {'id': boss}, 'offer': '_INBOX.x.y', 'media_type': 'text/plain'}
    hole('store an artifact as another principal', 'policy_denied' not in await ask(spy, 'art.v1.%s.store' % main_, store))

    # The ledger and its consumers.
    jsv = victim.jetstream()
    await jsv.add_consumer('LEDGER', durable_name='audit', ack_policy='explicit')
    mine = await jsv.pull_subscribe_bind(durable='audit', stream='LEDGER')
    first = (await mine.fetch(1, timeout=10))[0]
    info = await ask(spy, '$JS.API.CONSUMER.INFO.LEDGER.audit', b'')
    hole('see the consumer of another', '"audit"' in info and 'error' not in info)
    hole('list the consumers of another', 'audit' in await ask(spy, '$JS.API.CONSUMER.NAMES.LEDGER', b''))
    taken = await ask(spy, '$JS.API.CONSUMER.MSG.NEXT.LEDGER.audit', {'batch': 1, 'no_wait': True})
    hole('pull from the consumer of another', bank in taken or taken.startswith('404'))
    await spy.publish(first.reply, b'+TERM')
    await spy.flush()
    await asyncio.sleep(.5)
    hole('acknowledge for the consumer of another', json.loads(await ask(victim, '$JS.API.CONSUMER.INFO.LEDGER.audit', b''))['num_ack_pending'] != 1)
    change = {'stream_name': 'LEDGER', 'config': {'durable_name': 'audit', 'name': 'audit', 'ack_policy': 'explicit', 'filter_subject': 'prov.v1.%s.memory.*' % main_}}
    hole('change the consumer of another', '"error"' not in await ask(spy, '$JS.API.CONSUMER.CREATE.LEDGER.audit', change))
    gone = await ask(spy, '$JS.API.CONSUMER.DELETE.LEDGER.audit', b'')
    hole('delete the consumer of another', '"success":true' in gone)
    for wish in ('prov.v1.%s.>' % bank, 'prov.v1.*.pack.*', '', 'prov.v1.%s.decision.*' % main_):
        inbox, got = spy.new_inbox(), []
        await listen(spy, [inbox], got)
        await ask(spy, '$JS.API.CONSUMER.CREATE.LEDGER', {'stream_name': 'LEDGER', 'config': {'filter_subject': wish, 'deliver_subject': inbox}})
        await asyncio.sleep(.5)
        hole('read what is another\'s with a consumer of %r' % wish, any(bank in s or '.decision.' in s or '.drop.' in s for s, _, _ in got))
    for seq in range(1, 12):
        text = await ask(spy, '$JS.API.STREAM.MSG.GET.LEDGER', {'seq': seq})
        if 'prov.v1.' + bank in text:
            hole('read message %d of the ledger, which is another tenant\'s' % seq, True)
    hole('read the last message of another tenant', 'prov.v1.' + bank in await ask(spy, '$JS.API.STREAM.MSG.GET.LEDGER', {'last_by_subj': 'prov.v1.%s.>' % bank}))
    for subject in ('$JS.API.STREAM.INFO.MEMORY', '$JS.API.STREAM.MSG.GET.MEMORY', '$JS.API.STREAM.PURGE.LEDGER', '$JS.API.STREAM.DELETE.LEDGER', '$JS.API.DIRECT.GET.DLQ'):
        text = await ask(spy, subject, {'seq': 1})
        hole('use ' + subject, bool(text) and '"code":403' not in text and not text.startswith('404') and 'not enabled' not in text)

    # A large reply, whose content's name follows from that of another.
    for i in range(8):
        text = ' '.join('%s%d word%d' % (secret, i, k * 7919 + i) for k in range(9000))
        if '"indexed"' not in await ask(victim, 'mem.v1.%s.put' % bank, {'agent': boss, 'wait': 'indexed', 'event': event(bank, 'b%d' % i, text)}, 30):
            raise SystemExit('the victim cannot write a large item')
    large = request(boss, secret + ' word')
    large['payload'].update(token_budget=1000000, limit=100)
    m = await victim.request('ctx.v1.%s.request' % bank, json.dumps(large).encode(), timeout=60)
    ref = (m.headers or {}).get('Satchel-Dataref', '')
    if ref:
        name = ref.split(':', 1)[1].split('/', 1)[1]
        meta = await ask(victim, '$JS.API.DIRECT.GET.OBJ_SATCHEL_REPLIES.$O.SATCHEL_REPLIES.M.' + base64.urlsafe_b64encode(name.encode()).decode(), b'')
        content = json.loads(meta)['nuid']
        made = await ask(spy, '$JS.API.CONSUMER.CREATE.OBJ_SATCHEL_REPLIES', {'stream_name': 'OBJ_SATCHEL_REPLIES', 'config': {'filter_subject': '$O.SATCHEL_REPLIES.C.' + content, 'deliver_subject': spy.new_inbox()}})
        hole('read the large reply to another by the name of its content', '"error"' not in made)
        store = await victim.jetstream().object_store('SATCHEL_REPLIES')
        got = await store.get(name)
        if secret.encode() not in got.data:
            raise SystemExit('the victim itself cannot read its large reply')
    else:
        raise SystemExit('no reply was large enough to go by reference: %d bytes %s' % (len(m.data), m.data[:300]))
    await spy.close()
    await victim.close()


for args in ((boss, '--tenant', bank, '--level', 'restricted', '--role', 'auditor'), (guest, '--tenant', main_, '--level', 'public'), ('other', '--tenant', main_, '--level', 'restricted')):
    added = cli('principal', 'add', *args)
    if added.returncode:
        raise SystemExit(added.stderr)
with open(home + '/log', 'wb') as log:
    up = subprocess.Popen([binary, 'up'], env=env, stdout=log, stderr=log)
try:
    deadline = time.time() + 60
    while not os.path.exists(home + '/data/nats.url') and up.poll() is None and time.time() < deadline:
        time.sleep(.05)
    asyncio.run(attack())
finally:
    up.send_signal(signal.SIGTERM)
    up.wait(60)
print(len(open_holes), 'open')
sys.exit(1 if open_holes else 0)
