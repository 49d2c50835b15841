---- MODULE DibsLock ----
(* The lock of one store: the transition table of src/dibs/model/lock.py, and the clients of src/dibs/flows. *)
(* Each client has connections Conns (1 = asks, leaves, releases; 2 = the keeper's, if any), each FIFO both *)
(* ways. A message may wait for ever (Prompt = FALSE) or is handled before the clock ticks (Prompt = TRUE,  *)
(* used for W only). A pause is simply a client that takes no step. V is the set of planted variants.       *)
(*  noreset  a repeated ask does not reset the TTL          heard    tenure counts from hearing the push    *)
(*  cross    tenure from the last answer on ANY connection  otherconn the leave goes over connection 2      *)
(*  resend   the wire re-sends an acquire after NOSCRIPT    barge    a newcomer is served before the queue  *)
(*  nowake   no wake at the known expiry                    noowner  release without owner check            *)
(*  kacreates keep-alive/renew = acquire (creates)          leaveonce a leave lost or refused is not repeated*)
(*  late     bytes of a cut connection may still land       tomb     FIX of late: leave bars its owner      *)
(*  nofence  an answer with another fence extends tenure    fencettl the fence counter dies with the lock   *)
(*  noreask  no re-ask after reconnect and no keep-alive    hint     FIX: see Hint (TTLs that differ)       *)
(*  bar      FIX of late, as the code has it: a leave bars its owner until the not_after of its unanswered asks *)
(*  trace    with bar: only a leave that finds no trace     repay    a leave is repeated over connection 2  *)
EXTENDS Integers, Sequences, FiniteSets, TLC
CONSTANTS Clients, Nobody, Short, TTL, TShort, KA, NA, MaxT, MaxAcq, MaxAsk,
          MaxCut, MaxForce, MaxNos, MaxCrash, Conns, PushConn, KeepConn, Prompt, V
VARIABLES now, lock, q, ctr, bars,      \* server: lock [o,f,exp], tickets <<[o,exp]>>, fence counter, who is barred {[o,until]}
          up, dn, old, conn,            \* wire: [client][connection] queues; conn = up | zombie | down
          st, n, ten, last, owe, open,  \* client: state, acquisition number, tenure [f,from], last answered, leaves owed, asks unanswered
          asks, wake, asked, used,      \* bounds and timers
          left, forced, maxf, bad       \* history, for the invariants only
vars == <<now,lock,q,ctr,bars,up,dn,old,conn,st,n,ten,last,owe,open,asks,wake,asked,used,left,forced,maxf,bad>>
srv == <<lock,q,ctr,bars,left,forced,maxf,bad>>

None == <<Nobody,0>>
NoLock == [o |-> None, f |-> 0, exp |-> 0]
Ttl(o) == IF o[1] = Short THEN TShort ELSE TTL
Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(a,b) == IF a > b THEN a ELSE b
Cur(c) == <<c,n[c]>>
Believes(c) == st[c] = "held" /\ now < ten[c].from + Ttl(<<c,0>>)
Free(l) == l.o = None \/ l.exp <= now
Holds(o) == ~Free(lock) /\ lock.o = o
Queued(o) == \E i \in 1..Len(q) : q[i].o = o /\ q[i].exp > now
Trace(o) == Holds(o) \/ Queued(o)
Put(s,c,k,m) == IF conn[c][k] = "up" THEN [s EXCEPT ![c][k] = Append(@,m)] ELSE s
Msg(t,o) == [t |-> t, o |-> o, at |-> now, bar |-> -1]
(* Which asks are unanswered matters to "bar" only. A leave carries the latest not_after among its owner's. *)
Ask(os,o) == IF "bar" \in V THEN Append(os, [o |-> o, at |-> now]) ELSE os
Answered(os,o,at) == LET hit == {i \in 1..Len(os) : os[i] = [o |-> o, at |-> at]}
                     IN IF hit = {} THEN os ELSE [i \in 1..Len(os)-1 |-> IF i < Min(hit) THEN os[i] ELSE os[i+1]]
BarUntil(c,o) == LET ats == {open[c][i].at : i \in {j \in 1..Len(open[c]) : open[c][j].o = o}}
                 IN IF ats = {} THEN -1 ELSE NA + CHOOSE x \in ats : \A y \in ats : x >= y
Farewell(c,o) == [Msg("leave",o) EXCEPT !.bar = BarUntil(c,o)]
Barred(o) == \E b \in bars : b.o = o /\ b.until >= now

Init == /\ now = 0 /\ lock = NoLock /\ q = <<>> /\ ctr = 0 /\ bars = {}
        /\ up = [c \in Clients |-> [k \in Conns |-> <<>>]] /\ dn = up /\ old = [c \in Clients |-> <<>>]
        /\ conn = [c \in Clients |-> [k \in Conns |-> "up"]]
        /\ st = [c \in Clients |-> "idle"] /\ n = [c \in Clients |-> 0]
        /\ ten = [c \in Clients |-> [f |-> 0, from |-> 0]] /\ last = [c \in Clients |-> [k \in Conns |-> 0]]
        /\ owe = [c \in Clients |-> {}] /\ open = [c \in Clients |-> <<>>] /\ asks = [c \in Clients |-> 0]
        /\ wake = [c \in Clients |-> 0] /\ asked = wake
        /\ used = [cut |-> 0, force |-> 0, nos |-> 0, crash |-> 0]
        /\ left = {} /\ forced = {} /\ maxf = 0 /\ bad = {}

-----------------------------------------------------------------------------------------------------------
(* Server. Every script ends in Serve: a free lock goes to the first live ticket. Live = unexpired and      *)
(* reachable (PUBLISH answered >= 1; a zombie subscriber counts), or the asker's own. An unreachable one is *)
(* passed over, not deleted: it keeps its place until it expires.                                           *)
Serve(l, qq, ct, asker) ==
  LET q1 == SelectSeq(qq, LAMBDA t : t.exp > now)
      ok == {i \in 1..Len(q1) : q1[i].o = asker \/ conn[q1[i].o[1]][PushConn] # "down"}
      i  == IF "barge" \in V /\ \E j \in ok : q1[j].o = asker THEN CHOOSE j \in ok : q1[j].o = asker ELSE Min(ok)
      c1 == IF "fencettl" \in V /\ l.o = None THEN 0 ELSE ct
  IN IF ~Free(l) THEN [lock |-> l, q |-> q1, ctr |-> ct, to |-> None, barged |-> FALSE]
     ELSE IF ok = {} THEN [lock |-> NoLock, q |-> q1, ctr |-> ct, to |-> None, barged |-> FALSE]
     ELSE [lock |-> [o |-> q1[i].o, f |-> c1 + 1, exp |-> now + Ttl(q1[i].o)],
           q |-> SelectSeq(q1, LAMBDA t : t.o # q1[i].o), ctr |-> c1 + 1, to |-> q1[i].o, barged |-> i # Min(ok)]

Note(s, extra) == /\ maxf' = IF s.to # None THEN Max(maxf, s.lock.f) ELSE maxf
                  /\ bad' = bad \cup extra \cup (IF s.to # None /\ s.lock.f <= maxf THEN {"F"} ELSE {})
                                \cup (IF s.barged THEN {"Q"} ELSE {})

Hint(s, o) ==           \* when to ask again: the known expiry; FIX hint: or the shortest TTL standing ahead, if sooner
  LET ahead == {i \in 1..Len(s.q) : \E j \in i+1..Len(s.q) : s.q[j].o = o}
  IN IF "hint" \in V THEN Min({s.lock.exp} \cup {now + Ttl(s.q[i].o) : i \in ahead}) ELSE s.lock.exp

Handle(m, c, k) ==      \* k = 0: the answer has nowhere to go
  LET o == m.o
      mine == Holds(o)
      creates == m.t = "acq" \/ (m.t = "touch" /\ "kacreates" \in V)
      barred == m.t = "acq" /\ (now > m.at + NA \/ ("tomb" \in V /\ o \in left) \/ Barred(o))
      bye == m.t = "leave"
      l1 == IF bye /\ (mine \/ ("noowner" \in V /\ ~Free(lock))) THEN [NoLock EXCEPT !.exp = 0]
            ELSE IF ~bye /\ ~barred /\ mine /\ "noreset" \notin V THEN [lock EXCEPT !.exp = now + Ttl(o)] ELSE lock
      q1 == CASE bye -> SelectSeq(q, LAMBDA t : t.o # o)
              [] barred \/ mine -> q
              [] ~barred /\ ~mine /\ Queued(o) -> [i \in 1..Len(q) |-> IF q[i].o = o THEN [q[i] EXCEPT !.exp = now + Ttl(o)] ELSE q[i]]
              [] ~bye /\ ~barred /\ ~mine /\ ~Queued(o) /\ creates -> Append(SelectSeq(q, LAMBDA t : t.o # o), [o |-> o, exp |-> now + Ttl(o)])
              [] OTHER -> q
      s == Serve(l1, q1, ctr, IF bye \/ barred THEN None ELSE o)
      t == CASE bye -> "ok" [] barred -> "gone" [] ~bye /\ ~barred /\ s.lock.o = o /\ (mine \/ s.to = o) -> "grant"
             [] ~bye /\ ~barred /\ \E i \in 1..Len(s.q) : s.q[i].o = o -> "ticket" [] OTHER -> "gone"
      d1 == IF k = 0 THEN dn ELSE Put(dn, c, k, [t |-> t, o |-> o, f |-> IF t = "grant" THEN s.lock.f ELSE 0, at |-> m.at,
                                                exp |-> IF Prompt /\ t = "ticket" THEN Hint(s, o) ELSE 0])
      d2 == IF s.to \notin {None, o} \/ (s.to = o /\ t # "grant")
            THEN Put(d1, s.to[1], PushConn, [t |-> "push", o |-> s.to, f |-> s.lock.f, at |-> 0, exp |-> 0]) ELSE d1
  IN /\ lock' = s.lock /\ q' = s.q /\ ctr' = s.ctr /\ dn' = d2
     /\ left' = IF bye THEN left \cup {o} ELSE left
     /\ bars' = IF bye /\ m.bar >= now /\ ("trace" \in V => ~Trace(o)) THEN {b \in bars : b.o # o} \cup {[o |-> o, until |-> m.bar]} ELSE bars
     /\ Note(s, IF bye /\ ~Free(lock) /\ ~mine /\ l1.o # lock.o THEN {"O"} ELSE {})
     /\ UNCHANGED forced

cl == <<st,n,ten,last,owe,open,asks,wake,asked>>
SrvRecv(c,k) == /\ up[c][k] # <<>> /\ up' = [up EXCEPT ![c][k] = Tail(@)] /\ Handle(Head(up[c][k]), c, k)
                /\ UNCHANGED <<now,old,conn,cl,used>>
SrvOld(c) == /\ old[c] # <<>> /\ old' = [old EXCEPT ![c] = Tail(@)] /\ Handle(Head(old[c]), c, 0)
             /\ UNCHANGED <<now,up,conn,cl,used>>
SrvNoscript(c) == /\ used.nos < MaxNos /\ up[c][1] # <<>> /\ used' = [used EXCEPT !.nos = @ + 1]
                  /\ up' = [up EXCEPT ![c][1] = Tail(@)]
                  /\ LET m == Head(up[c][1]) IN dn' = Put(dn, c, 1, [t |-> "nos-" \o m.t, o |-> m.o, f |-> 0, at |-> m.at, exp |-> 0])
                  /\ UNCHANGED <<now,old,conn,cl,srv>>
Force == /\ used.force < MaxForce /\ ~Free(lock) /\ used' = [used EXCEPT !.force = @ + 1]
         /\ LET s == Serve(NoLock, q, ctr + 1, None)
                d1 == Put(dn, lock.o[1], PushConn, [t |-> "loss", o |-> lock.o, f |-> lock.f, at |-> 0, exp |-> 0])
            IN /\ lock' = s.lock /\ q' = s.q /\ ctr' = s.ctr /\ Note(s, {})
               /\ dn' = IF s.to = None THEN d1 ELSE Put(d1, s.to[1], PushConn, [t |-> "push", o |-> s.to, f |-> s.lock.f, at |-> 0, exp |-> 0])
         /\ forced' = forced \cup {<<lock.o, lock.f>>} /\ UNCHANGED <<now,up,old,conn,cl,left,bars>>

-----------------------------------------------------------------------------------------------------------
(* Client *)
Bye(u,c,o) == Put(u, c, IF "otherconn" \in V THEN 2 ELSE 1, Farewell(c,o))
Start(c) == /\ st[c] = "idle" /\ n[c] < MaxAcq /\ conn[c][1] = "up"
            /\ n' = [n EXCEPT ![c] = @ + 1] /\ st' = [st EXCEPT ![c] = "wait"]
            /\ up' = Put(up, c, 1, Msg("acq", <<c,n[c]+1>>)) /\ open' = [open EXCEPT ![c] = Ask(@, <<c,n[c]+1>>)]
            /\ asks' = [asks EXCEPT ![c] = 0] /\ asked' = IF Prompt THEN [asked EXCEPT ![c] = now] ELSE asked
            /\ wake' = [wake EXCEPT ![c] = 0]
            /\ UNCHANGED <<now,srv,dn,old,conn,ten,last,owe,used>>
Due(c) == st[c] = "wait" /\ ((wake[c] # 0 /\ now >= wake[c] /\ "nowake" \notin V) \/ (now >= asked[c] + (IF c = Short THEN 1 ELSE KA) /\ "noreask" \notin V))
ReAsk(c) == /\ st[c] = "wait" /\ conn[c][1] = "up" /\ (IF Prompt THEN Due(c) ELSE KeepConn = 0 /\ asks[c] < MaxAsk /\ "repay" \notin V)
            /\ up' = Put(up, c, 1, Msg("acq", Cur(c))) /\ open' = [open EXCEPT ![c] = Ask(@, Cur(c))]
            /\ asks' = IF Prompt THEN asks ELSE [asks EXCEPT ![c] = @ + 1]
            /\ asked' = IF Prompt THEN [asked EXCEPT ![c] = now] ELSE asked
            /\ wake' = [wake EXCEPT ![c] = 0]
            /\ UNCHANGED <<now,srv,dn,old,conn,st,n,ten,last,owe,used>>
Touch(c) == /\ st[c] \in {"wait","held"} /\ conn[c][KeepConn] = "up" /\ asks[c] < MaxAsk   \* keep-alive and renew
            /\ up' = Put(up, c, KeepConn, Msg("touch", Cur(c))) /\ asks' = [asks EXCEPT ![c] = @ + 1]
            /\ UNCHANGED <<now,srv,dn,old,conn,st,n,ten,last,owe,open,wake,asked,used>>
Exit(c) == /\ st[c] \in {"wait","held"}                 \* give up, cancel, release, lost: one leave-or-release
           /\ st' = [st EXCEPT ![c] = "idle"] /\ ten' = [ten EXCEPT ![c] = [f |-> 0, from |-> 0]]
           /\ owe' = [owe EXCEPT ![c] = @ \cup {Cur(c)}] /\ up' = Bye(up, c, Cur(c))
           /\ UNCHANGED <<now,srv,dn,old,conn,n,last,open,asks,wake,asked,used>>
Repay(c) == /\ asks[c] < MaxAsk /\ conn[c][2] = "up" /\ asks' = [asks EXCEPT ![c] = @ + 1]      \* the keeper's connection
            /\ \E o \in owe[c] : up' = Put(up, c, 2, Farewell(c,o))
            /\ UNCHANGED <<now,srv,dn,old,conn,st,n,ten,last,owe,open,wake,asked,used>>

Recv(c,k) ==
  /\ dn[c][k] # <<>>
  /\ LET m == Head(dn[c][k])
         w == st[c] = "wait" /\ m.o = Cur(c)
         h == st[c] = "held" /\ m.o = Cur(c)
         from == IF m.t = "push" THEN (IF "heard" \in V THEN now ELSE IF "cross" \in V THEN Max(last[c][1],last[c][2]) ELSE last[c][k]) ELSE m.at
         news == m.t \in {"grant","push"}
         enter == w /\ news /\ now < from + Ttl(m.o)
         extend == h /\ m.t = "grant" /\ ("nofence" \in V \/ (m.f = ten[c].f /\ Believes(c)))
         lost == h /\ m.t = "loss" /\ m.f = ten[c].f
         again == w /\ ((news /\ ~enter) \/ m.t \in {"gone","nos-acq"})  \* too old: confirm; refused: ask again
         told == w /\ k = 1 /\ m.t \in {"grant","ticket","gone","nos-acq"}      \* an ask is answered: it cannot land any more
         u1 == IF again \/ (m.t = "nos-acq" /\ "resend" \in V) THEN Put(up, c, 1, Msg("acq", m.o)) ELSE up
         u2 == IF lost \/ (m.t = "nos-leave" /\ "leaveonce" \notin V) THEN Bye(u1, c, m.o) ELSE u1
     IN /\ st' = [st EXCEPT ![c] = IF enter THEN "held" ELSE IF lost THEN "idle" ELSE @]
        /\ ten' = [ten EXCEPT ![c] = IF enter THEN [f |-> m.f, from |-> from]
                                     ELSE IF extend THEN [@ EXCEPT !.from = Max(@, from)]
                                     ELSE IF lost THEN [f |-> 0, from |-> 0] ELSE @]
        /\ last' = IF m.t \in {"push","loss"} THEN last ELSE [last EXCEPT ![c][k] = m.at]
        /\ owe' = [owe EXCEPT ![c] = IF m.t = "ok" THEN @ \ {m.o} ELSE IF lost THEN @ \cup {m.o} ELSE @]
        /\ open' = [open EXCEPT ![c] = LET os == IF told THEN Answered(@, m.o, m.at) ELSE @
                                       IN IF again THEN Ask(os, m.o) ELSE os]
        /\ up' = u2
        /\ wake' = IF Prompt /\ w /\ m.t = "ticket" THEN [wake EXCEPT ![c] = m.exp] ELSE wake
  /\ dn' = [dn EXCEPT ![c][k] = Tail(@)]
  /\ UNCHANGED <<now,srv,old,conn,n,asks,asked,used>>

Cut(c,k) ==     /\ used.cut < MaxCut /\ conn[c][k] = "up" /\ used' = [used EXCEPT !.cut = @ + 1] /\ st[c] # "dead"
                /\ conn' = [conn EXCEPT ![c][k] = "zombie"] /\ up' = [up EXCEPT ![c][k] = <<>>] /\ dn' = [dn EXCEPT ![c][k] = <<>>]
                /\ old' = IF "late" \in V /\ k = 1 THEN [old EXCEPT ![c] = up[c][k]] ELSE old
                /\ UNCHANGED <<now,srv,cl>>
Notice(c,k) == /\ conn[c][k] = "zombie" /\ conn' = [conn EXCEPT ![c][k] = "down"]   \* the server sees the cut
               /\ UNCHANGED <<now,srv,up,dn,old,cl,used>>
RECURSIVE Byes(_,_)
Byes(s,os) == IF os = {} THEN s ELSE LET o == CHOOSE x \in os : TRUE IN Byes(Append(s, Farewell(o[1],o)), os \ {o})
Reconnect(c,k) == /\ conn[c][k] # "up" /\ st[c] # "dead" /\ conn' = [conn EXCEPT ![c][k] = "up"]
                  /\ last' = [last EXCEPT ![c][k] = now]          \* SUBSCRIBE was asked and answered
                  /\ LET ls == IF k = 1 /\ "leaveonce" \notin V THEN Byes(<<>>, owe[c]) ELSE <<>>
                         as == IF st[c] = "wait" /\ "noreask" \notin V THEN <<Msg("acq", Cur(c))>> ELSE <<>>
                     IN /\ up' = IF k = 1 THEN [up EXCEPT ![c][1] = ls \o as]
                              ELSE IF conn[c][1] = "up" THEN [up EXCEPT ![c][1] = @ \o as] ELSE up
                        /\ open' = IF as # <<>> /\ (k = 1 \/ conn[c][1] = "up") THEN [open EXCEPT ![c] = Ask(@, Cur(c))] ELSE open
                  /\ asked' = IF Prompt /\ st[c] = "wait" THEN [asked EXCEPT ![c] = now] ELSE asked
                  /\ UNCHANGED <<now,srv,dn,old,st,n,ten,owe,asks,wake,used>>
Crash(c) ==     /\ used.crash < MaxCrash /\ st[c] # "dead" /\ used' = [used EXCEPT !.crash = @ + 1]
                /\ st' = [st EXCEPT ![c] = "dead"] /\ ten' = [ten EXCEPT ![c] = [f |-> 0, from |-> 0]]
                /\ conn' = [conn EXCEPT ![c] = [k \in Conns |-> "zombie"]] /\ dn' = [dn EXCEPT ![c] = [k \in Conns |-> <<>>]]
                /\ UNCHANGED <<now,srv,up,old,n,last,owe,open,asks,wake,asked>>      \* what it had sent still lands

Quiet == \A c \in Clients : (\A k \in Conns : up[c][k] = <<>> /\ dn[c][k] = <<>>)
                            /\ (st[c] # "dead" => ~Due(c) /\ \A k \in Conns : conn[c][k] = "up")
Asleep == Free(lock) /\ \E c \in Clients : st[c] = "wait"     \* nothing is on its way, and yet somebody waits for a free lock
Tick == /\ now < MaxT /\ (Prompt => Quiet) /\ now' = now + 1
        /\ bad' = IF Prompt /\ Asleep THEN bad \cup {"W"} ELSE bad
        /\ UNCHANGED <<lock,q,ctr,bars,up,dn,old,conn,cl,used,left,forced,maxf>>

Next == \/ Tick \/ Force
        \/ \E c \in Clients :
             \/ Start(c) \/ ReAsk(c) \/ Exit(c) \/ SrvOld(c) \/ SrvNoscript(c) \/ Crash(c)
             \/ (KeepConn # 0 /\ Touch(c)) \/ ("repay" \in V /\ Repay(c))
             \/ \E k \in Conns : SrvRecv(c,k) \/ Recv(c,k) \/ Notice(c,k) \/ Reconnect(c,k) \/ Cut(c,k)
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------------------------------------
WasForced(c) == <<Cur(c), ten[c].f>> \in forced
M  == \A c \in Clients : Believes(c) /\ ~WasForced(c) => Holds(Cur(c)) /\ lock.f = ten[c].f      \* belief is truth
M0 == Cardinality({c \in Clients : Believes(c) /\ ~WasForced(c)}) <= 1                             \* implied by M
F  == "F" \notin bad
O  == "O" \notin bad
Q  == "Q" \notin bad
W  == "W" \notin bad
OldBye(o) == \E i \in 1..Len(old[o[1]]) : old[o[1]][i].t = "leave" /\ old[o[1]][i].o = o
L  == \A o \in left : Trace(o) => OldBye(o)
Bound(o) == OldBye(o) \/ \E k \in Conns : \/ \E i \in 1..Len(up[o[1]][k]) : up[o[1]][k][i].t = "leave" /\ up[o[1]][k][i].o = o
                             \/ \E i \in 1..Len(dn[o[1]][k]) : dn[o[1]][k][i].t = "nos-leave" /\ dn[o[1]][k][i].o = o
L2 == \A c \in Clients : st[c] # "dead" /\ conn[c][1] = "up" =>      \* a live process leaves nothing behind
        \A i \in 1..n[c] : (i < n[c] \/ st[c] = "idle") /\ Trace(<<c,i>>) => Bound(<<c,i>>)
Sym == Permutations(Clients)
Sym2 == Permutations(Clients \ {Short})
(* Only ages matter, never the date. MaxT bounds how often the lock can expire and be granted anew. A state that is *)
(* reached again at an earlier date is not searched again: what lies shortly before MaxT is searched less.          *)
Cap == IF {"late","bar"} \cap V # {} THEN Max(NA + 1, TTL) ELSE TTL   \* older than this: all the same
Age(x) == IF now - x > Cap THEN Cap ELSE now - x
Rem(x) == IF x <= now THEN 0 ELSE x - now
Bars(x) == IF x < now THEN 0 ELSE x - now + 1         \* a bar stands at its last moment, too
(* When something was asked matters to one who may yet enter by a push, on the connection that brings pushes; *)
(* when a granted ask was asked, to one who waits or holds. One who has finished hears nothing that counts.  *)
Entering(c) == st[c] = "wait" \/ (st[c] # "dead" /\ n[c] < MaxAcq)
Counts(c,k) == Entering(c) /\ (k = PushConn \/ "cross" \in V)
Finished(c) == ~Entering(c) /\ st[c] # "held"
Dated(m,c,k) == m.t \notin {"push","loss"} /\ ("bar" \in V \/ Counts(c,k) \/ (m.t = "grant" /\ ~Finished(c)))
AgeQ(s,c) == [i \in 1..Len(s) |-> [s[i] EXCEPT !.at = IF s[i].t = "leave" \/ (Finished(c) /\ NA > MaxT) THEN 0 ELSE Age(@), !.bar = Bars(@)]]
AgeD(s,c,k) == [i \in 1..Len(s) |-> [s[i] EXCEPT !.at = IF Dated(s[i],c,k) THEN Age(@) ELSE 0, !.exp = Rem(@)]]
Cuttable == used.cut < MaxCut \/ "repay" \in V \/ \E c \in Clients : conn[c][1] # "up"    \* may a leave be said again?
Matters(c,a) == a.at + NA >= now /\ IF st[c] \in {"wait","held"} /\ a.o = Cur(c) THEN TRUE ELSE (Cuttable \/ MaxNos > 0) /\ a.o \in owe[c]
View == <<IF Free(lock) /\ "fencettl" \notin V THEN NoLock ELSE [lock EXCEPT !.exp = Rem(@)],
          [i \in 1..Len(SelectSeq(q, LAMBDA t : t.exp > now)) |-> LET t == SelectSeq(q, LAMBDA u : u.exp > now)[i] IN <<t.o, Rem(t.exp)>>], ctr,
          [c \in Clients |-> [k \in Conns |-> <<AgeQ(up[c][k],c), AgeD(dn[c][k],c,k), conn[c][k], IF Counts(c,k) THEN Age(last[c][k]) ELSE 0>>]], [c \in Clients |-> AgeQ(old[c],c)],
          st, n, [c \in Clients |-> IF Believes(c) THEN <<ten[c].f, Age(ten[c].from)>> ELSE <<0,0>>], IF Cuttable THEN owe ELSE {},
          [c \in Clients |-> IF Finished(c) /\ "repay" \notin V THEN 0 ELSE asks[c]], [c \in Clients |-> IF Prompt /\ st[c] = "wait" THEN <<IF wake[c] = 0 THEN 99 ELSE Rem(wake[c]), Age(asked[c])>> ELSE <<0,0>>],
          used, left, forced, maxf, bad, {<<b.o, Bars(b.until)>> : b \in {x \in bars : x.until >= now}},
          [c \in Clients |-> LET os == SelectSeq(open[c], LAMBDA a : Matters(c,a)) IN [i \in 1..Len(os) |-> <<os[i].o, Age(os[i].at)>>]]>>
Witness == ~(\E c \in Clients : Believes(c) /\ ten[c].f = 3)   \* planted: shows that hand-overs happen
====
