"""How people talk around their rules: patterns of whole sentences, of what leads into an order, and of what is none."""

from __future__ import annotations

import re


def _any(*said: str) -> str:
    """One of several lists of words."""
    return "(?:" + "|".join("|".join(words.split(", ")) for words in said) + ")"


NAME = re.compile(
    r"(?:(?:the|my|strategy|system|idea|its) )*(?:name|title|nickname|label|called)(?: of (?:the|my|this) \w+)?"
)
SALUTATION = re.compile(
    r"^(?:(?:hi|hello|hey|dear|good (?:morning|evening|afternoon|day)|greetings)\b[^,!.]*[,!.]\s*)+"
)
# What a heading before a list of tickers may call them.
LISTS = re.compile(
    r"(?:asset|coin|crypto|forex|fx|underlying|product|instrument|compan(?:y|ie)|share|pair|etf|very|super|market|stock|ticker|symbol|airline|bank|miner|sector|name|semi|utilit(?:y|ie))s?"
)
LOW_HIGH = re.compile(r"buy(?:ing)? low,?(?: and)? sell(?:ing)? high")
_EARNS = r"(?:made|makes?|earn(?:s|ed)?)(?= (?:any |me |us |you |some |a )*(?:money|profits?|sense))"
# How a question about the result ends: would buying … have made any money?
JUDGED = re.compile(
    r"(?:would |will |does |did |has |have |had |be |been |is |was |still |ever |really |actually |to |that |it )*"
    + _any(
        "profitable, work, works, worked, working, done, doing, do, perform, performs, performed, performing, paid",
        "pay, pays",
        _EARNS,
        "any good, good, a good idea, sensible, smart, worthwhile, worth it, worth doing, worth trying, beat, beats",
        "beaten",
        "outperform, outperforms, outperformed, fare, fared, gone, turn out, turned out, been like, look like",
        "looked like",
        "hold up, held up, holds up, kept, saved, spared, helped, protected",
    )
    + r"(?: "
    + _any(
        "well, out, off, over time, historically, better, best, ok, okay, any, some, me, us, you, money, sense, profit",
        "profits, a profit, up, in the past, for me, for us, for you, over the years, than, simply, just, the market",
        "the index, so far, in practice, in general, at all, or not, out of trouble, safe, from the worst, sane",
        r"buy(?:ing)?[ -](?:and|&|n)[ -]hold(?:ing)?(?: it)?",
    )
    + r")*"
)
TOLD_OF = re.compile(
    r"(?:would|works|worked|performs|performed|pays|paid|made|makes|is profitable|to work|beats|does well)\b"
)
# Is there money in buying gaps? A question before the rules.
WORTH = re.compile(
    r"(?:is|was) there (?:any |some |still |really )*"
    r"(?:money|profit|an edge|edge|value|merit|point|sense|alpha|something)(?: to be made)? in\b"
    r"|does (?:buying|fading|trading|selling) \w+ (?:\w+ )?(?:work|pay|make money)"
)
# What ends a request, in whichever words: that is it, no other rules, nothing else.
CLOSING = re.compile(
    r"(?:and |so |but )*(?:"
    r"(?:that's|thats|that is|this is|that would be|that'd be) (?:really |basically |about |pretty much )?"
    r"(?:it|all|everything|the (?:whole|entire|full|complete) (?:\w+ )?\w+|all there is(?: to it)?|"
    r"my (?:whole |entire )?\w+)"
    r"(?: (?:really|basically|folks|for now|for today|from me|i need|i want|i have|to see|to know|we need|we want|"
    r"there is|you need))*"
    r"|(?:yes,? )?(?:yes|i know|we know|of course)(?:,? i know)?(?: i know)?"
    r"|how (?:would|did|does|do|has|will) (?:that|this|it|they) (?:have )?"
    r"(?:done?|perform(?:ed)?|work(?:ed)?|fared?|look(?:ed)?)(?: over time| historically| so far)?"
    r"|what (?:does|do|would|will) (?:she|he|i|we|they|it|one) end up with"
    r"|(?:(?:it's )?as )?simple as that|end of story|done|easy(?: enough| peasy)?|voila|enjoy|good luck|keep it simple"
    r"|(?:there (?:is|are) )?(?:no|not any) (?:other|more|further|additional|extra) "
    r"(?:rules?|conditions?|filters?|requirements?|bells and whistles|indicators?|tricks?)"
    r"|(?:there is )?nothing (?:else|more|fancy|special|complicated)(?: to it| needed| required| is needed)?"
    r"(?:,? nothing (?:less|more))?|nothing less|no frills|no extras|no bells and whistles|"
    r"those are (?:all )?(?:the|my) \w+|"
    r"(?:as |like )?my (?:wife|husband|father|mother|dad|mum|mom|uncle|aunt|brother|sister|friend|boss) "
    r"(?:did|does|has done|always did|always does) (?:this|that|it|so)(?: for (?:years|decades|ages|a long time))?)"
)
# Compare it with buy and hold: what is asked for besides, and no rule.
COMPARED = re.compile(
    r"(?:please |and |also |then )*(?:compare|benchmark) "
    r"(?:(?:it|this|that|them|the (?:results?|strategy|returns?|performance)) )?"
    r"(?:to|with|against|versus|vs\.?) [^\d%]*"
)
# What may lead into an order within its sentence: what would be the result of buying …
TOLD = re.compile(
    r"\b"
    + _any(
        "know, knows, see, seeing, wonder, wondering, want, wants, wanted, like, likes, say, says, said, told, tell",
        "tells",
        "think, thinks, thinking, thought, heard, read, reads, reading, found, suggest, suggests, suggested, recommend",
        "recommends, recommended, advise, advised, claim, claims, claimed, believe, believes, swear, swears, ask, asks",
        "asked, asking, suppose, supposing, imagine, assume, picture, consider, considering, what, how, whether, check",
        "checking, show, give, gimme, help, can you, could you, can we, could we, would you, would it, does it, is it",
        "is this, should i, would, will, let us, let's, find out, curious, grateful, appreciate, glad, happy, love",
        "interested, looking, backtest, test, testing, tests, run, simulate, evaluate, try, trying, happens, happened",
        "result, results, outcome, idea, plan, rule, rules, method, system, strategy, approach, goal, setup, trick",
        "follows, following, need, needs, please, explore, study, examine, investigate, analyse, analyze, used, uses",
        "student, trader, investor, client, somebody, someone, one, people, friend, father, mother, colleague, boss",
        "uncle",
        "grandmother, grandma, grandpa, wife, husband, aunt, cousin, son, daughter, dad, mom, mum, partner, advisor",
        "adviser, broker, roommate, coworker, manager, parents, nephew, niece, buddy, guy, lady, man, woman",
        "professor, teacher, grandfather, brother, sister, neighbour, neighbor, mentor, coach, desk, customer",
        "anyone, tried, tries, generate, build, write, make, create",
        "hypothesis, theory, question, request, experiment, exercise, teach, learn",
    )
    + r"\b"
)
# … and what may not stand there: it would turn the order round, or limit it.
DENIES = re.compile(
    r"\b(?:refus\w*|hat(?:e|ed|es)|regret\w*|hesitat\w*|nobody|noone|no one|quit|fail\w*|stopp?\w*|against|forget|"
    r"doubt\w*|dislike\w*|instead|unlike|except|rather|wrong|bad|used to|anymore|no longer|other than|apart from|never|"
    r"not|only|unless|until)\b"
)
ASKING = re.compile(
    r"(?:please |pls |and |but |so |also |then |finally |lastly |now |afterwards |after that )*"
    r"(?:let me know|tell me|show|see|compare|benchmark|plot|report|print|chart|give me|output|display|list|"
    r"summari[sz]e|calculate|compute|measure|send|"
    r"what|how|why|does|do you|did|is (?:this|that|it)|would|could|can|any (?:idea|thought|help|feedback)|many thanks|"
    r"thanks?|thx|cheers|sorry|i hope|hope|i am not|i'm not|no idea|not sure|i don't (?:know|code|program)|"
    r"i do(?:nt| not) know|my english|english is not|good (?:luck|morning|evening|afternoon|day)|"
    r"(?:i|we)(?:'d| would)? (?:be|am|are) (?:very |so |most )?(?:grateful|glad|happy|curious|interested)|i wonder|"
    r"(?:(?:i|we)(?:'d| would)? )?(?:just )?(?:like|want|wanted|need|love) (?:to )?"
    r"(?:see|know|get|have|find|understand)|"
    r"best regards|best wishes|best(?=, ?\w+$)|all the best|yours|sincerely|warm regards|kind regards|regards|"
    r"appreciate|looking forward|have a)\b"
)
PERSONAL = re.compile(
    r"\b(?:i|i'm|im|i've|i'd|me|my|we|we're|our|you|your|thanks?|thx|cheers|please|pls|sorry|hope|hello|hi|hey|"
    r"regards|help|appreciate|teacher|student|students|beginner|newbie)\b"
)
GREETED = re.compile(
    r"(?:to (?:illustrate|show|demonstrate|teach|explain|learn|practise|practice)|"
    r"hi|hello|hey|dear|good|as an?|for (?:my|our|a|an|the)|i|we|my|i'm|im|we're|sorry|new here|ok|okay)\b"
)
# I am retired and I would like …: there what was said of oneself ends.
LEADS_ON = re.compile(r"and (?:i|we)(?:'d| would| want| wish| just| need| like)\b", re.IGNORECASE)
# What binds is no talk, in whichever words.
BINDING = re.compile(
    r"\b(?:must|should|shall|ought|respect|follow|prefer|ensure|make sure|look at|watch|focus|attention|always|never|"
    r"need to|has to|have to|keep in mind|important)\b"
)
# Words that nobody knows here and that would change a run: a title with one of them is read or refused,
_HEAVY = (
    r"kelly|optimi|neural|heikin|ashi|renko|fib|pivot|commission|slippage|fees?$|hedg|leverag|margin|weekend|holiday|"
    r"premarket|afterhours|exclud|ignor|without|except|avoid|limit|cap$|capped|delay|always|never|none|neither|nor$|"
    r"reinvest|martingale|grid|pyramid|lots$|pips?$|ticks?$|news|earning|adjust|dividend|tax|invert|hull|kama|tema|"
    r"aroon|chaikin|trix|vortex|vix|choppiness|coppock|fisher|alligator|fractal|zigzag|swap|borrow|must|maximum|max$|"
    r"min$|minimum|instead|halt|pause|skip|unless|until|option|partial|gradual|benchmark|log$|median|smooth"
)
WEIGHTY = re.compile(_HEAVY)
# … and a sentence with one of these too.
GRAVE = re.compile(
    _HEAVY + r"|careful|wait|confirm|nothing|break|split|revers|flip|double|tight|wide|aggress|least|most|stop|"
    r"sell|buy|short|long|enter|exit|cash|strong|weak|rarely|often|twice|once$|average|mean|trend|volat|quiet|calm|"
    r"januar|februar|march|april|june|july|august|septem|octob|novem|decem|summer|winter|spring|autumn|saturday|sunday|"
    r"midnight|noon"
)
