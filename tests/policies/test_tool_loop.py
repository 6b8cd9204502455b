"""Tools that a model calls: a bounded number of times, and its mistakes are told to it."""

from __future__ import annotations

from pydantic import BaseModel

from openmle_env.policies.protocol import Message, Reply, Request, ToolCall
from openmle_env.policies.scripted import ScriptedPolicy
from openmle_env.policies.tool_loop import BoundTool, ToolError, ToolLoop, run_tools

ASK = Request(messages=(Message(role="user", content="Look around."),))


class Path(BaseModel):
    path: str


def read(arguments: Path) -> str:
    if arguments.path == "gone":
        raise ToolError("There is no file 'gone'.")
    return f"Contents of {arguments.path}"


READ = BoundTool(name="read", description="Reads a file.", arguments=Path, call=read)
SAVE = BoundTool(name="save", description="Saves.", arguments=Path, call=read, ends=True)


def calls(*wanted: tuple[str, str]) -> Reply:
    made = tuple(ToolCall(id=f"c{n}", name=name, arguments=text) for n, (name, text) in enumerate(wanted))
    return Reply(text="", tool_calls=made, finish="tool_calls")


def loop(*replies: Reply | str, **options: int) -> tuple[ToolLoop, ScriptedPolicy]:
    policy = ScriptedPolicy(replies)
    return run_tools(policy, ASK, [READ, SAVE], **options), policy


def test_results_are_fed_back_until_there_is_an_answer() -> None:
    done, policy = loop(calls(("read", '{"path": "a"}'), ("read", '{"path": "b"}')), "Two files.")
    assert (done.stop, done.text) == ("answered", "Two files.")
    assert [(call.result, call.failed) for call in done.calls] == [("Contents of a", False), ("Contents of b", False)]
    told = policy.requests[1].messages[2:]
    assert [(message.role, message.content, message.tool_call_id) for message in told] == [
        ("tool", "Contents of a", "c0"),
        ("tool", "Contents of b", "c1"),
    ]
    assert policy.requests[0].tools[0].parameters["required"] == ["path"]


def test_mistakes_are_told_to_the_model() -> None:
    done, _ = loop(
        calls(
            ("raed", "{}"),
            ("read", '{"path": '),
            ("read", '["a"]'),
            ("read", "{}"),
            ("read", '{"path": "gone"}'),
        ),
        "I give up.",
    )
    assert [call.result for call in done.calls] == [
        "Error: There is no tool 'raed'. Did you mean 'read'?",
        "Error: The arguments are no JSON object.",
        "Error: The arguments are no JSON object.",
        "Error: The arguments are not of the right form: path: Field required.",
        "Error: There is no file 'gone'.",
    ]
    assert all(call.failed for call in done.calls)


def test_a_tool_may_end_it_unless_it_failed() -> None:
    done, policy = loop(
        calls(("save", '{"path": "gone"}')), calls(("save", '{"path": "a"}'), ("read", '{"path": "b"}'))
    )
    assert (done.stop, len(done.calls), len(policy.requests)) == ("ended", 2, 2)


def test_the_calls_are_counted_and_the_last_reply_has_no_tools() -> None:
    look = calls(*[("read", '{"path": "a"}')] * 3)
    done, policy = loop(look, look, look, calls=5)
    assert (done.stop, len(done.calls), len(policy.requests)) == ("calls", 5, 3)
    assert not policy.requests[2].tools
    assert [message.content for message in policy.requests[2].messages[-2:]] == [
        "No calls are left.",
        "No calls are left. Answer now, without any.",
    ]
    assert not done.messages[-1].tool_calls


def test_long_results_lose_their_middle() -> None:
    done, _ = loop(calls(("read", '{"path": "%s"}' % ("a" * 5000))), "Long.", result_characters=100)
    assert len(done.calls[0].result) < 200
    assert "characters are left out" in done.calls[0].result


def test_a_model_without_tools_may_write_its_call() -> None:
    done, policy = loop('I read it.\n```json\n{"name": "read", "arguments": {"path": "a"}}\n```', '{"name": "x"}')
    assert (done.stop, done.calls[0].result, done.text) == ("answered", "Contents of a", '{"name": "x"}')
    assert policy.requests[1].messages[-1] == Message(role="user", content="Result of read:\nContents of a")


def test_a_reply_that_was_cut_or_filtered_is_told_from_an_answer() -> None:
    assert loop(Reply(text="So", finish="length"))[0].stop == "length"
    assert loop(Reply(text="", finish="refused"))[0].stop == "refused"
