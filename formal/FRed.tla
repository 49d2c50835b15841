---- MODULE FRed ----
(* Fences where a majority of several servers grants a lock: model/quorum.py and stores/quorum/election.py.          *)
(* There are no clocks at all: a server may let go of the lock at ANY time, which covers every jump, pause and delay.  *)
(* A client asks each server for a fence above its floor; in the second phase it has a majority count from the highest.*)
(* V is the set of planted variants, and of fixes:                                                                     *)
(*  onephase  the highest fence of a majority is taken as it is         lossy   a server may forget all, and go on       *)
(*  lax       in the second phase a server whose counter is not below confirms all the same                             *)
(*  born      FIX of lossy: one that forgot has no vote until all are over who had its vote, and learns the counters     *)
(*  early     born, but the counters are read when it forgot, not when it counts again                                  *)
EXTENDS Integers, FiniteSets, TLC
CONSTANTS Clients, Nodes, Nobody, Floors, MaxLeap, MaxForget, V
VARIABLES key, ctr,                        \* servers: who holds the lock there, and the counter
          votes, learnt, forgot,           \* which of them vote, what one that does not was told, how often one forgot
          pc, floor, got, fen, mx, conf, leaps,   \* clients: phase, who granted, with which fence, the fence, who confirmed
          lo, done, issued, bad            \* history, for the invariant only
vars == <<key,ctr,votes,learnt,forgot,pc,floor,got,fen,mx,conf,leaps,lo,done,issued,bad>>
srv == <<key,ctr,votes,learnt,forgot>>
cl == <<pc,floor,got,fen,mx,conf,leaps>>
past == <<lo,done,issued,bad>>

Maj == (Cardinality(Nodes) \div 2) + 1
Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Sym == Permutations(Clients) \cup Permutations(Nodes)

Init == /\ key = [n \in Nodes |-> Nobody] /\ ctr = [n \in Nodes |-> 0]
        /\ votes = Nodes /\ learnt = [n \in Nodes |-> 0] /\ forgot = 0
        /\ pc = [c \in Clients |-> "idle"] /\ floor = [c \in Clients |-> 0]
        /\ got = [c \in Clients |-> {}] /\ fen = [c \in Clients |-> [n \in Nodes |-> 0]]
        /\ mx = [c \in Clients |-> 0] /\ conf = [c \in Clients |-> {}] /\ leaps = [c \in Clients |-> 0]
        /\ lo = [c \in Clients |-> 0] /\ done = 0 /\ issued = {} /\ bad = FALSE

Start(c) == /\ pc[c] = "idle" /\ pc' = [pc EXCEPT ![c] = "ask"]
            /\ \E f \in Floors : floor' = [floor EXCEPT ![c] = f]
            /\ lo' = [lo EXCEPT ![c] = done]
            /\ UNCHANGED <<srv,got,fen,mx,conf,leaps,done,issued,bad>>

Given(c,n) == Max({ctr[n] + 1, floor[c] + 1})

Grant(c,n) ==           \* also one that comes late, when the fence is chosen: then it confirms it, or does not
  /\ pc[c] \in {"ask","raise"} /\ n \in votes /\ n \notin got[c] /\ key[n] = Nobody
  /\ key' = [key EXCEPT ![n] = c] /\ ctr' = [ctr EXCEPT ![n] = Given(c,n)]
  /\ got' = [got EXCEPT ![c] = @ \cup {n}] /\ fen' = [fen EXCEPT ![c][n] = Given(c,n)]
  /\ mx' = IF pc[c] = "ask" THEN [mx EXCEPT ![c] = Max({@, Given(c,n)})] ELSE mx
  /\ conf' = IF pc[c] = "raise" /\ Given(c,n) = mx[c] THEN [conf EXCEPT ![c] = @ \cup {n}] ELSE conf
  /\ UNCHANGED <<votes,learnt,forgot,pc,floor,leaps,past>>

Choose(c) == /\ pc[c] = "ask" /\ Cardinality(got[c]) >= Maj
             /\ pc' = [pc EXCEPT ![c] = "raise"]
             /\ conf' = [conf EXCEPT ![c] = {n \in got[c] : fen[c][n] = mx[c]}]
             /\ UNCHANGED <<srv,floor,got,fen,mx,leaps,past>>

Raise(c,n) == /\ pc[c] = "raise" /\ n \notin conf[c] /\ key[n] = c
              /\ (ctr[n] < mx[c] \/ "lax" \in V)
              /\ ctr' = [ctr EXCEPT ![n] = Max({@, mx[c]})] /\ conf' = [conf EXCEPT ![c] = @ \cup {n}]
              /\ UNCHANGED <<key,votes,learnt,forgot,pc,floor,got,fen,mx,leaps,past>>

Leap(c,n) ==  /\ pc[c] = "raise" /\ leaps[c] < MaxLeap /\ n \notin conf[c] /\ key[n] = c /\ ctr[n] >= mx[c]
              /\ mx' = [mx EXCEPT ![c] = ctr[n] + 1] /\ conf' = [conf EXCEPT ![c] = {}]
              /\ leaps' = [leaps EXCEPT ![c] = @ + 1]
              /\ UNCHANGED <<srv,pc,floor,got,fen,past>>

Win(c) == /\ IF "onephase" \in V THEN pc[c] = "ask" /\ Cardinality(got[c]) >= Maj
                                 ELSE pc[c] = "raise" /\ Cardinality(conf[c]) >= Maj
          /\ pc' = [pc EXCEPT ![c] = "held"] /\ done' = Max({done, mx[c]}) /\ issued' = issued \cup {mx[c]}
          /\ bad' = (bad \/ mx[c] <= lo[c] \/ mx[c] \in issued)
          /\ UNCHANGED <<srv,floor,got,fen,mx,conf,leaps,lo>>

GiveUp(c) == /\ pc[c] \in {"ask","raise"} /\ "born" \in V /\ pc' = [pc EXCEPT ![c] = "gone"]
             /\ UNCHANGED <<srv,floor,got,fen,mx,conf,leaps,past>>

Expire(n) == /\ key[n] # Nobody /\ key' = [key EXCEPT ![n] = Nobody]
             /\ UNCHANGED <<ctr,votes,learnt,forgot,cl,past>>

Known(n) == {m \in votes : m # n}
Readings(n) == {Max({ctr[m] : m \in S}) : S \in {T \in SUBSET Known(n) : Cardinality(T) >= Maj}}

Forget(n) == /\ V \cap {"lossy","born"} # {} /\ forgot < MaxForget
             /\ ("born" \in V => Cardinality(votes \ {n}) >= Maj)      \* no more of them at once than a majority outlasts
             /\ forgot' = forgot + 1
             /\ key' = [key EXCEPT ![n] = Nobody] /\ ctr' = [ctr EXCEPT ![n] = 0]
             /\ votes' = IF "born" \in V THEN votes \ {n} ELSE votes
             /\ \E r \in (IF "early" \in V /\ Readings(n) # {} THEN Readings(n) ELSE {0}) : learnt' = [learnt EXCEPT ![n] = r]
             /\ UNCHANGED <<cl,past>>

Over(n) == \A c \in Clients : n \in got[c] => pc[c] \in {"held","gone"}   \* the longest TTL has passed
CountAgain(n) == /\ n \notin votes /\ Over(n)
                 /\ \E r \in (IF "early" \in V THEN {learnt[n]} ELSE Readings(n)) : ctr' = [ctr EXCEPT ![n] = Max({@, r})]
                 /\ votes' = votes \cup {n}
                 /\ UNCHANGED <<key,learnt,forgot,cl,past>>

Next == \/ \E c \in Clients : Start(c) \/ Choose(c) \/ Win(c) \/ GiveUp(c)
        \/ \E c \in Clients, n \in Nodes : Grant(c,n) \/ Raise(c,n) \/ Leap(c,n)
        \/ \E n \in Nodes : Expire(n) \/ Forget(n) \/ CountAgain(n)
Spec == Init /\ [][Next]_vars

Rise == ~bad         \* fences are unique, and above all that were there when they were asked for
====
