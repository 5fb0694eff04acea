"""The client against the real binary: SATCHEL_TEST_BINARY names it."""

import asyncio
import unittest
from datetime import datetime, timezone

import satchel_memory
from satchel_memory import AsyncSatchel, Satchel
from server import Server

AT = datetime(2026, 3, 3, 10, tzinfo=timezone.utc)


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.url, cls.token, cls.new_token = cls.server.url, cls.server.token, cls.server.new_token
        cls.memory = Satchel(cls.url, cls.token)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def test_remember_and_ask(self) -> None:
        for _ in range(2):
            receipt = self.memory.remember("The kiln is fired on Tuesdays.", key="kiln", time=AT)
            self.assertEqual(receipt["level"], "indexed")
        pack = self.memory.context("when is the kiln fired?", budget=500)
        self.assertEqual(pack.text.count("fired on Tuesdays"), 1)
        self.assertLessEqual(pack.tokens, 500)
        self.assertEqual(self.memory.pack(pack.pack_id).text, pack.text)
        self.assertTrue(self.memory.explain(pack.pack_id, "kiln")["explanation"])
        self.assertIn("kiln", [r["memory"]["id"] for r in self.memory.search("kiln")])
        self.assertIn("Tuesdays", self.memory.get("kiln")["content"])
        self.assertIsNone(self.memory.get("never"))
        self.memory.correct("kiln", text="The kiln is fired on Fridays.", reason="new plan")
        self.assertIn("Fridays", self.memory.context("when is the kiln fired?").text)
        self.assertNotIn("Fridays", self.memory.context("when is the kiln fired?", as_of=receipt["position"]).text)

    def test_items(self) -> None:
        ids = [self.memory.remember(f"Turn {i}.", session="talk", time=AT, wait="accepted" if i < 119 else "indexed")["item"] for i in range(120)]
        self.assertEqual([i["id"] for i in self.memory.items(session="talk")], ids[::-1])
        self.assertEqual([i["id"] for i in self.memory.items(session="talk", kinds=["memory"], limit=7)], ids[:-8:-1])
        self.assertEqual(self.memory.items(session="talk", labels=["team:none"]), [])

    def test_forget(self) -> None:
        item = self.memory.remember("The safe is behind the clock.")["item"]
        self.assertIn("clock", self.memory.context("where is the safe?").text)
        plan = self.memory.forget([item], reason="test", dry_run=True)
        self.assertGreater(plan.pop("position"), 0)
        self.assertEqual(plan, {"items": [item], "summaries": [], "packs": 1, "artifacts": 0})
        receipt = self.memory.forget([item], reason="test")
        self.assertEqual(receipt["items"], [item])
        self.assertTrue(all(s["absent"] for s in receipt["stores"]))
        self.assertNotIn("clock", self.memory.context("where is the safe?").text)

    def test_refusals(self) -> None:
        with self.assertRaises(satchel_memory.ValidationError) as refused:
            self.memory.context("x", budget=-1)
        self.assertTrue(refused.exception.field)
        self.assertFalse(refused.exception.undecided)
        self.assertTrue(satchel_memory.errors.from_reply(403, {"code": "policy_denied", "undecided": True}).undecided)
        with self.assertRaises(satchel_memory.NotFound):
            self.memory.pack("none")
        with self.assertRaises(satchel_memory.Unauthenticated):
            Satchel(self.url, "satchel_x").head()
        with self.assertRaises(satchel_memory.InsufficientScope):
            Satchel(self.url, self.new_token("reader", "--scope", "memory.read")).remember("x")
        self.memory.remember("one", key="twice", time=AT)
        with self.assertRaises(satchel_memory.Conflict):
            self.memory.remember("another", key="twice", time=AT)
        with self.assertRaises(satchel_memory.Unavailable):
            Satchel("http://127.0.0.1:1", "x", retries=0).head()
        with self.assertRaises(ValueError):
            self.memory.remember("x", key="k")
        for wrong in (lambda: self.memory.forget("01a2", reason="x"), lambda: self.memory.remember("x", labels="level:public"),
                      lambda: self.memory.remember("\ud800"), lambda: Satchel(self.url, "satchel_…"), lambda: Satchel("localhost:1", "x")):
            with self.assertRaises(satchel_memory.ValidationError):
                wrong()
        with self.assertRaises(satchel_memory.NotFound):
            self.memory.correct("nope", text="x", reason="x")
        self.assertTrue(Satchel(self.url, self.token + "\n").head())

    def test_coroutines(self) -> None:
        async def both() -> list:
            memory = AsyncSatchel(self.url, self.token)
            await memory.remember("The lamp is green.")
            return await asyncio.gather(memory.context("which colour is the lamp?"), memory.search("lamp"))

        pack, found = asyncio.run(both())
        self.assertIn("green", pack.text)
        self.assertTrue(found)


if __name__ == "__main__":
    unittest.main()
