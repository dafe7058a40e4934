import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { afterEach, beforeAll, test } from "vitest";
import { usageOf } from "../../../src/cluster/shell/synopses.js";
import { shortUsage } from "../../support/short-usage.js";
import { loadPrograms, newFolder, RuntimeLab } from "../runtime/lab.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

const GONE = "tail: q has been renamed or deleted: No such file or directory\n";
const REPLACED = "tail: q has been replaced; following end of new file\n";

/** A script, and what busybox 1.35 prints on both streams; `<usage X>` stands for the usage of a program. */
const ROWS: readonly (readonly [script: string, output: string])[] = [
  [
    "ps -Q; ps --help; ps -o",
    "ps: invalid option -- 'Q'\n<usage ps>\n<usage ps>\nps: option requires an argument -- 'o'\n<usage ps>\n",
  ],
  [
    "uname -Q; uname x; uname -sp; hostname -Q; uptime -Q; nproc -Q; nproc --ignore=99",
    "uname: invalid option -- 'Q'\n<usage uname>\n<usage uname>\nLinux unknown\nhostname: invalid option -- 'Q'\n<usage hostname>\nuptime: invalid option -- 'Q'\n<usage uptime>\nnproc: invalid option -- 'Q'\n<usage nproc>\n1\n",
  ],
  [
    "id -Q; env -Q; date -Q; whoami x; sleep; sleep x; sleep 1x; sleep -Q",
    "id: invalid option -- 'Q'\n<usage id>\nenv: invalid option -- 'Q'\n<usage env>\ndate: invalid option -- 'Q'\n<usage date>\n<usage whoami>\n<usage sleep>\nsleep: invalid number 'x'\nsleep: invalid number '1x'\nsleep: invalid number '-Q'\n",
  ],
  ["true --help; echo --help; cat --help; ls --help; grep --help", "--help\n<usage cat>\n<usage ls>\n<usage grep>\n"],
  [
    "rm; rm -Q; rm nope; rm -f; rm -f nope; mkdir d; rm d; rm -r; rm .; rm -r d/..; ls",
    "<usage rm>\nrm: invalid option -- 'Q'\n<usage rm>\nrm: can't remove 'nope': No such file or directory\nrm: 'd' is a directory\n<usage rm>\nrm: can't remove '.' or '..'\nrm: can't remove '.' or '..'\nd\n",
  ],
  [
    "mv; mv a; mv -Q; mv nope x; touch a b; mv a b c; mkdir d; mv a b d; ls d; mv d/a d/b; mv d d; mv -v d/b x; mv --nope",
    "<usage mv>\n<usage mv>\nmv: invalid option -- 'Q'\n<usage mv>\nmv: can't rename 'nope': No such file or directory\nmv: can't rename 'a': No such file or directory\nmv: can't rename 'b': No such file or directory\na\nb\nmv: can't rename 'd': Invalid argument\n'd/b' -> 'x'\nmv: unrecognized option '--nope'\n<usage mv>\n",
  ],
  [
    "mkdir d e; touch x y e/f; mv -n x y; mv -t d x; ls d; mv -T e d; mv y d; mv d y; echo n | mv -i e y; ls",
    "x\nmv: can't rename 'e': Directory not empty\ny\n",
  ],
  [
    "cp; cp a; cp -Q a b; cp nope x; mkdir d; cp d e; cp a b d",
    "<usage cp>\n<usage cp>\ncp: invalid option -- 'Q'\n<usage cp>\ncp: can't stat 'nope': No such file or directory\ncp: omitting directory 'd'\ncp: can't stat 'a': No such file or directory\ncp: can't stat 'b': No such file or directory\n",
  ],
  [
    "touch -Q; touch nope/x; mkdir; mkdir -Q; mkdir d; mkdir d; mkdir nope/x; mkdir -m zz x; touch -d zz f; touch -r nope f",
    "touch: invalid option -- 'Q'\n<usage touch>\ntouch: nope/x: No such file or directory\n<usage mkdir>\nmkdir: invalid option -- 'Q'\n<usage mkdir>\nmkdir: can't create directory 'd': File exists\nmkdir: can't create directory 'nope/x': No such file or directory\nmkdir: invalid mode 'zz'\ntouch: invalid date 'zz'\ntouch: can't stat 'nope': No such file or directory\n",
  ],
  [
    "ln; ln -Q; ln nope x; ln -s a; ln -s a b; ln -s a b; ln -sf c b; readlink b; mkdir d; ln -s ../x d; readlink d/x; touch f; ln f g; ln -v f h; ln -sfn d b; readlink b",
    "<usage ln>\nln: invalid option -- 'Q'\n<usage ln>\nln: nope: No such file or directory\nln: b: File exists\nc\n../x\n'h' -> 'f'\nd\n",
  ],
  [
    "readlink; readlink -Q; realpath; realpath nope/x; basename; basename -Q; basename a b c; basename /a/b.c .c; basename -a x/y z/w; basename -s .c x/y.c z.c; dirname; dirname a b; dirname /a/b",
    "<usage readlink>\nreadlink: invalid option -- 'Q'\n<usage readlink>\n<usage realpath>\nrealpath: nope/x: No such file or directory\n<usage basename>\nbasename: invalid option -- 'Q'\n<usage basename>\n<usage basename>\nb\ny\nw\ny\nz\n<usage dirname>\n<usage dirname>\n/a\n",
  ],
  [
    "wc -Q; wc -L /etc/passwd; tee -Q; tr; tr -Q a b; sort -Q; uniq -Q; cut -Q; cut; seq; seq x; expr; expr 1 +; sed; sed -Q; sed s/a; awk; awk -Q; awk '{'",
    "wc: invalid option -- 'Q'\n<usage wc>\n45 /etc/passwd\ntee: invalid option -- 'Q'\n<usage tee>\n<usage tr>\ntr: invalid option -- 'Q'\n<usage tr>\nsort: invalid option -- 'Q'\n<usage sort>\nuniq: invalid option -- 'Q'\n<usage uniq>\ncut: invalid option -- 'Q'\n<usage cut>\ncut: expected a list of bytes, characters, or fields\n<usage seq>\n<usage seq>\nexpr: too few arguments\nexpr: syntax error\n<usage sed>\nsed: invalid option -- 'Q'\n<usage sed>\nsed: unmatched '/'\n<usage awk>\nawk: invalid option -- 'Q'\n<usage awk>\nawk: cmd. line:1: Unexpected token\n",
  ],
  [
    "mkdir -p a/b/c; rmdir -p a/b/c; rmdir a; touch f; rmdir f; rmdir; mkdir -p x/y; rmdir x; rmdir -Q x; rmdir --ignore-fail-on-non-empty x; echo $?",
    "rmdir: 'a': No such file or directory\nrmdir: 'f': Not a directory\n<usage rmdir>\nrmdir: 'x': Directory not empty\nrmdir: invalid option -- 'Q'\n<usage rmdir>\n0\n",
  ],
  [
    "tail -n x f; tail -c x f; head -n x f; tail -Q; tail nope; tail -n; head -c; tail -s x f",
    "tail: invalid number 'x'\ntail: invalid number 'x'\nhead: invalid number 'x'\ntail: invalid option -- 'Q'\n<usage tail>\ntail: can't open 'nope': No such file or directory\ntail: no files\ntail: option requires an argument -- 'n'\n<usage tail>\nhead: option requires an argument -- 'c'\n<usage head>\ntail: invalid number 'x'\n",
  ],
  [
    "kill -l 9; kill -l TERM; kill -l | head -2; kill -l | tail -3; killall; killall nope; killall -Q x; /bin/kill; /bin/kill -x 1; kill x; kill -QQ 1; kill 9999",
    "KILL\n15\n 1) HUP\n 2) INT\n29) POLL\n30) PWR\n31) SYS\nkillall: you need to specify whom to kill\nkillall: nope: no process killed\nkillall: bad signal name 'Q'\nkill: you need to specify whom to kill\nkill: bad signal name 'x'\nsh: invalid number 'x'\nsh: bad signal name 'QQ'\nsh: can't kill pid 9999: No such process\n",
  ],
  [
    "printf \"a\\nb\\n\" | while read x; do echo $x $(grep -c root /etc/passwd); done; echo y | awk 'BEGIN{print 1}'",
    "a 1\nb 1\n1\n",
  ],
  [
    "printf 'a\\nb\\n' > l; while read x; do sed -n 1p l; sort l; cut -c1 l; awk '{print $1}' l; grep -m1 a l; awk -F: -v x=1 '{print x}' l; rev l; done < l",
    "a\na\nb\na\nb\na\nb\na\n1\n1\na\nb\n".repeat(2),
  ],
  [
    "cat .; tail .; md5sum .; sh nope; echo $?; ulimit -s; ulimit -a | sed -n '/open files/p'; stat -c %a /etc/shadow",
    "cat: read error: Is a directory\ntail: read error: Is a directory\ntail: no files\nmd5sum: can't read '.': Is a directory\nsh: can't open 'nope': No such file or directory\n2\n8192\nopen files                      (-n) 1048576\n600\n",
  ],
  [
    'touch -d 2021-05-06 f; [ "$(date -r f +%F-%H)" = "2021-05-06-$(date +%H)" ] && echo same; ls -l /dev/null | cut -c 1-43',
    "same\ncrw-rw-rw-    1 root     root        1,   3\n",
  ],
  [
    "echo a b | xargs -n x; echo a | xargs -s x echo; echo a | xargs -n 0 echo; echo aaaa bbbb cccc | xargs -s 15 echo; echo a | xargs -P x",
    "xargs: invalid number 'x'\nxargs: invalid number 'x'\nxargs: number 0 is not in 1..2147483647 range\naaaa bbbb\ncccc\nxargs: invalid number 'x'\n",
  ],
  [
    "df -B x; for o in '-B 1M' '-B 1K' '-B 10' -m -P -h -k; do df $o / | head -1; done",
    `df: invalid number 'x'\n${["1M-blocks      Used Available Use%", "1K-blocks      Used Available Use%", "10-blocks      Used Available Use%", "1M-blocks      Used Available Use%", "1024-blocks    Used Available Capacity", "     Size      Used Available Use%", "1K-blocks      Used Available Use%"].map((head) => `Filesystem           ${head} Mounted on\n`).join("")}`,
  ],
  [
    "echo abc | grep --color b; echo abc | grep --color=always b; printf 'a\\0b\\0' | grep -z b | tr '\\0' z; printf 'x\\ny\\0b\\0' | grep -cz .",
    "abc\nabc\nbz2\n",
  ],
  [
    "echo abc | sed --expression s/b/x/; echo abc | sed --expression=s/b/y/; echo abc | sed --quiet p; echo abc | sed --regexp-extended 's/(b)/<\\1>/'",
    "axc\nayc\nabc\na<b>c\n",
  ],
  [
    "printf '1\\n3\\n' > a; printf '2\\n4\\n' > b; sort -m a b; sort -mn a b; uniq -f x a; uniq -w x a",
    "1\n2\n3\n4\n1\n2\n3\n4\nuniq: invalid number 'x'\nuniq: invalid number 'x'\n",
  ],
  [
    "timeout; timeout 1; timeout x true; timeout -s QQ 1 true; timeout 1 nope; setsid; chroot; chroot /nope; chroot / basename /a/b; nsenter -t 77 -n true",
    "<usage timeout>\n<usage timeout>\ntimeout: invalid number 'x'\ntimeout: unknown signal 'QQ'\ntimeout: can't execute 'nope': No such file or directory\n<usage setsid>\n<usage chroot>\nchroot: can't change root directory to '/nope': No such file or directory\nb\nnsenter: can't open '/proc/77/ns/net': No such file or directory\n",
  ],
  [
    "su nope; su -s /bin/sh nobody -c 'id; echo $0 $1 $HOME $USER' x y; su -c 'id -u' -s /bin/sh nobody; su - nobody -s /bin/sh -c 'pwd; echo $PATH'",
    "su: unknown user nope\nuid=65534(nobody) gid=65534(nobody) groups=65534(nobody)\nx y /home nobody\n65534\n/home\n/bin:/usr/bin\n",
  ],
  [
    "which; which -Q; which ls nope; tty -Q; stat; stat -Q; chown; chown -Q; chmod; chmod 777; chgrp; xargs -Q; watch; umount; umount nope",
    "<usage which>\nwhich: invalid option -- 'Q'\n<usage which>\n/bin/ls\ntty: invalid option -- 'Q'\n<usage tty>\n<usage stat>\nstat: invalid option -- 'Q'\n<usage stat>\n<usage chown>\nchown: invalid option -- 'Q'\n<usage chown>\n<usage chmod>\n<usage chmod>\n<usage chgrp>\nxargs: invalid option -- 'Q'\n<usage xargs>\n<usage watch>\n<usage umount>\numount: can't unmount nope: No such file or directory\n",
  ],
  [
    "truncate; truncate -s 3 f; cat f | od -c | head -1; truncate -s 1k f; wc -c < f; truncate -s x f; truncate -cs 1 nope; ls; unlink f; unlink f; ls",
    "<usage truncate>\n0000000  \\0  \\0  \\0\n1024\ntruncate: invalid number 'x'\nf\nunlink: can't remove file 'f': No such file or directory\n",
  ],
  [
    "grep -Q x; grep; egrep '(' /etc/passwd; grep '[' /etc/passwd; echo $?; diff -Q a b; cmp; cmp -Q a b; strings -Q; nl -Q; fold -Q; paste -Q; od -Q; hexdump -Q; base64 -Q; md5sum -Q",
    "grep: invalid option -- 'Q'\n<usage grep>\n<usage grep>\negrep: bad regex '('\ngrep: bad regex '['\n2\ndiff: invalid option -- 'Q'\n<usage diff>\n<usage cmp>\ncmp: invalid option -- 'Q'\n<usage cmp>\nstrings: invalid option -- 'Q'\n<usage strings>\nnl: invalid option -- 'Q'\n<usage nl>\nfold: invalid option -- 'Q'\n<usage fold>\npaste: invalid option -- 'Q'\n<usage paste>\nod: invalid option -- 'Q'\n<usage od>\nhexdump: invalid option -- 'Q'\n<usage hexdump>\nbase64: invalid option -- 'Q'\n<usage base64>\nmd5sum: invalid option -- 'Q'\n<usage md5sum>\n",
  ],
  [
    "wget; wget -Q; nc; nc -Q; nslookup; ping; ping -Q; route -Q; netstat -Q; df -Q; df nope; du -Q; mount -Q; mount nope; mktemp -Q",
    "<usage wget>\nwget: invalid option -- 'Q'\n<usage wget>\n<usage nc>\nnc: invalid option -- 'Q'\n<usage nc>\n<usage nslookup>\n<usage ping>\nping: invalid option -- 'Q'\n<usage ping>\nroute: invalid option -- 'Q'\n<usage route>\nnetstat: invalid option -- 'Q'\n<usage netstat>\ndf: invalid option -- 'Q'\n<usage df>\nFilesystem           1K-blocks      Used Available Use% Mounted on\ndf: nope: can't find mount point\ndu: invalid option -- 'Q'\n<usage du>\nmount: invalid option -- 'Q'\n<usage mount>\nmount: can't read '/etc/fstab': No such file or directory\nmktemp: invalid option -- 'Q'\n<usage mktemp>\n",
  ],
  [
    "touch f x.b y.a; mkdir d; ln -s f l; ln -s nope m; ls --color=always; ls --color=never; ls --color; ls -C -w 20; ls -x -w 20; ls -X; ls --group-directories-first; ls -Q; ls --nope",
    '\u001b[1;34md\u001b[m\n\u001b[0;0mf\u001b[m\n\u001b[1;36ml\u001b[m\n\u001b[1;36mm\u001b[m\n\u001b[0;0mx.b\u001b[m\n\u001b[0;0my.a\u001b[m\nd\nf\nl\nm\nx.b\ny.a\n\u001b[1;34md\u001b[m\n\u001b[0;0mf\u001b[m\n\u001b[1;36ml\u001b[m\n\u001b[1;36mm\u001b[m\n\u001b[0;0mx.b\u001b[m\n\u001b[0;0my.a\u001b[m\nd    l    x.b\nf    m    y.a\nd    f    l    m\nx.b  y.a\nd\nf\nl\nm\ny.a\nx.b\nd\nf\nl\nm\nx.b\ny.a\n"d"\n"f"\n"l"\n"m"\n"x.b"\n"y.a"\nls: unrecognized option \'--nope\'\n<usage ls>\n',
  ],
  ["exec 3>f; echo 1 >&3; mv f g; echo 2 >&3; ls; cat g; rm g; echo 3 >&3; ls", "g\n1\n2\n"],
  [
    "echo hello > f; exec 3<f; rm f; cat <&3; echo a > f; exec 5<f; mv f g; cat <&5; echo b > f; cat f g",
    "hello\na\nb\na\n",
  ],
  [
    "seq 20 > f; tail -n +19 f; tail -n 0 f; tail -c 3 f; tail -c +48 f; tail -2 f; tail -n 1k f | wc -l",
    "19\n20\n20\n\n20\n19\n20\n20\n",
  ],
  ["echo $(for x in a=b c; do echo $x; done)", "a=b c\n"],
  [
    'y=1; echo "$(x=1; for x in a=b c=d; do echo $x; done)" `for z in q=1; do echo $z; done`; x=$(a=1; for i in k=v; do echo $i$a; done); echo $x',
    "a=b\nc=d q=1\nk=v1\n",
  ],
  [
    "busybox ls -d /etc; busybox nope; echo $?; busybox basename /a/b; busybox --list | head -1",
    "/etc\nnope: applet not found\n127\nb\n[\n",
  ],
  [
    "ls -n /etc/passwd | cut -c1-33; ls -l nope; ls nope nope2 /etc/passwd",
    "-rw-r--r--    1 0        0       \nls: nope: No such file or directory\nls: nope: No such file or directory\nls: nope2: No such file or directory\n/etc/passwd\n",
  ],
  [
    "find . -exec false ';' -print; touch a b; find . -type f -exec test {} = ./a ';' -print; find . -type f ! -exec test {} = ./a ';' -print; find . -type f -exec false ';' -o -name a -print",
    "./a\n./b\n./a\n",
  ],
  [
    "touch a b; find . -name a -exec echo 1 {} + -o -name b -exec echo 2 {} +; find a -exec false {} +; echo $?; find . -exec nope ';'; echo $?; find a -exec sh -c 'exit 3' ';'; echo $?",
    "1 ./a\n2 ./b\n1\nfind: nope: No such file or directory\nfind: nope: No such file or directory\nfind: nope: No such file or directory\n0\n0\n",
  ],
  [
    "for s in -name -type '-type z' '-maxdepth x' -exec '-exec echo' '(' '-size x' '-perm zz' '-mtime x' '-newer nope' -nope '-print foo' '-name a b' '-samefile nope'; do find . $s; done; find nope; find -Q",
    "find: -name requires an argument\nfind: -type requires an argument\nfind: invalid argument 'z' to '-type'\nfind: invalid number 'x'\nfind: -exec requires an argument\nfind: -exec requires an argument\nfind: unpaired '('\nfind: invalid number 'x'\nfind: invalid mode 'zz'\nfind: invalid number 'x'\nfind: can't stat 'nope': No such file or directory\nfind: unrecognized: -nope\n<usage find>\nfind: unrecognized: foo\n<usage find>\nfind: unrecognized: b\n<usage find>\nfind: can't stat 'nope': No such file or directory\nfind: nope: No such file or directory\nfind: unrecognized: -Q\n<usage find>\n",
  ],
  [
    "mkdir -p d/e; touch a d/f; find d -depth | tail -1; find . -maxdepth 1 -type f; find . -mindepth 2 | sort; find . -name d -prune -o -type f -print; find . '(' -name a -o -name f ')' -print | sort; find d/ | sort; find a/; find . -empty | sort; find . -iname A; find . -path './d/*' | sort; find . -name a -print0 | od -c | head -1; find . -name a -quit; find . ! -type d -a -name a",
    "d\n./a\n./d/e\n./d/f\n./a\n./a\n./d/f\nd/\nd/e\nd/f\nfind: a/: Not a directory\n./a\n./d/e\n./d/f\n./a\n./d/e\n./d/f\n0000000   .   /   a  \\0\n./a\n",
  ],
  [
    "touch a b; ln -s a l; find . -type l; find -L . -type l; find -H l -type f; find l -type f; find . -follow -name l -type f; find . -samefile a; ln a c; find . -samefile a | sort; find . -size 0 -name a; echo x > s; find . -size -2c -name s; find . -size 2c; find . -size 1; find . -name '[ab]' | sort; find . -executable",
    "./l\nl\n./l\n./a\n./a\n./c\n./a\n./s\n./a\n./b\n.\n",
  ],
  [
    "touch a b ab; find . -regex '.*/[ab]' | sort; find . -regex '\\./\\(a\\|ab\\)' | sort; find . -regex 'a['; find . -regex a; find . -regex './a+'",
    "./a\n./b\n./a\n./ab\nfind: bad regex 'a[': Invalid regular expression\n",
  ],
  [
    "printf '%d\\n' abc; printf '%d\\n' 12abc; printf '%d %s\\n' 1 a 2; printf '%q' x; printf '%x\\n' 0x1f; printf '%f\\n' abc; printf '%d\\n' ''; printf '%s %d\\n' a; printf '%'; printf '%5'; printf -- 'x\\n'; printf '%d\\n' '\"a' 0x 99999999999999999999; printf; echo $?",
    "sh: invalid number 'abc'\n0\nsh: invalid number '12abc'\n0\n1 a\n2 \nsh: %q: invalid format\n1f\nsh: invalid number 'abc'\n0.000000\nsh: invalid number ''\n0\na sh: invalid number ''\n0\nsh: %: invalid format\nsh: %5: invalid format\nx\n97\nsh: invalid number '0x'\n0\nsh: invalid number '99999999999999999999'\n0\nsh: usage: printf FORMAT [ARGUMENT...]\n2\n",
  ],
  [
    "/bin/printf '%d\\n' abc; /bin/printf '%s\\n' a b; /bin/printf; echo $?",
    "printf: invalid number 'abc'\n0\na\nb\n<usage printf>\n1\n",
  ],
  [
    'echo ~root ~nobody ~nope ~root/y "~root"; alias; alias a=b c="d e"; alias nope; alias c; unalias c nope; alias; unalias -a; alias',
    "/root /home ~nope /root/y ~root\nalias: nope not found\nc='d e'\nunalias: nope not found\na='b'\n",
  ],
  [
    "times | sed 's/[0-9]/0/g'; time -p true 2>&1 | sed 's/[0-9]/0/g'; time; time nope 2>&1 | head -2; time true 2>&1 | head -1 | cut -c1-8",
    "0m0.000s 0m0.000s\n0m0.000s 0m0.000s\nreal 0.00\nuser 0.00\nsys 0.00\n<usage time>\ntime: can't execute 'nope': No such file or directory\nCommand exited with non-zero status 127\nreal\t0m \n",
  ],
  ["pwd -P; pwd -L; cd -P /tmp; pwd", "/tmp/w\n/tmp/w\n/tmp\n"],
  [
    "mkdir d; touch d/f; ln -s f d/l; touch -d '2020-01-02 03:04:05' d d/f; tar cf a.tar d; tar tvf a.tar | head -2; tar tf a.tar nope; echo $?; tar xf a.tar nope; tar tf nope.tar; echo $?; tar xf a.tar d/f nope; echo $?",
    "drwxr-xr-x root/root         0 2020-01-02 03:04:05 d/\n-rw-r--r-- root/root         0 2020-01-02 03:04:05 d/f\ntar: nope: not found in archive\n1\ntar: nope: not found in archive\ntar: can't open 'nope.tar': No such file or directory\n1\ntar: nope: not found in archive\n1\n",
  ],
  [
    "mkdir d; tar cf b.tar nope; echo $?; tar cf b.tar d nope; echo $?; tar tf b.tar; tar; echo $?; tar -Q; tar xf; tar cf b.tar; tar cf nope/x.tar d; tar xf b.tar -C nope; echo $?",
    "tar: nope: No such file or directory\ntar: error exit delayed from previous errors\n1\ntar: nope: No such file or directory\ntar: error exit delayed from previous errors\n1\nd/\n<usage tar>\n1\ntar: invalid option -- 'Q'\n<usage tar>\ntar: option requires an argument -- 'f'\n<usage tar>\ntar: empty archive\ntar: can't open 'nope/x.tar': No such file or directory\ntar: can't change directory to 'nope': No such file or directory\n1\n",
  ],
  [
    "awk 'BEGIN{printf \"%05.2f|%+.2f|% .1f|%+05d|%05d|%-8.3f|%e|%E|%g|%G|%.3g|%08.3e\\n\", 3.14159,1.5,2.5,3,-42,3.14159,1500000,0.00015,0.0001234,1e10,1234567,3.5}'",
    "03.14|+1.50| 2.5|+0003|-0042|3.142   |1.500000e+06|1.500000E-04|0.0001234|1E+10|1.23e+06|3.500e+00\n",
  ],
  [
    'awk \'BEGIN{printf "%x %X %o %c %c %5s|%-5s|%.2s|%%|%i|%u\\n", 255,255,8,65,"hello","ab","ab","abc",3.9,5; printf "%d %d\\n", "3x", -3.5; printf "%5.1f%%\\n", 45.678}\'',
    "ff FF 10 A h    ab|ab   |ab|%|3|5\n3 -3\n 45.7%\n",
  ],
  [
    "telnet; telnet nope 1; telnet 127.0.0.1 x; telnet -Q; logger hi; echo in | logger -s -t tag; logger -s -t tag a b; logger -Q; dd x; dd foo=1; dd bs=x",
    "<usage telnet>\ntelnet: bad address 'nope'\ntelnet: bad port 'x'\ntelnet: invalid option -- 'Q'\n<usage telnet>\ntag: in\ntag: a b\nlogger: invalid option -- 'Q'\n<usage logger>\n<usage dd>\n<usage dd>\ndd: invalid number 'x'\n",
  ],
  [
    "netstat -rn | head -2; route -n | head -2; netstat -r | head -1",
    "Kernel IP routing table\nDestination     Gateway         Genmask         Flags   MSS Window  irtt Iface\nKernel IP routing table\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\nKernel IP routing table\n",
  ],
  [
    "seq 5 > f; split -l 2 f; ls; cat xaa xac; split -b 3 f y; cat yaa; echo; split -a 1 -l 1 f z; ls z*; split nope; split -l 0 f; seq 30 | split -a 1 -l 1 - q; split -Q",
    "f\nxaa\nxab\nxac\n1\n2\n5\n1\n2\nza\nzb\nzc\nzd\nze\nsplit: nope: No such file or directory\nsplit: invalid number '0'\nsplit: suffixes exhausted\nsplit: invalid option -- 'Q'\n<usage split>\n",
  ],
  [
    "alias e='echo hi'\ne there; alias e='echo e'\ne e; \\e x; alias t=true\nt && echo yes; (alias e); unalias e\ne",
    "hi there\ne e\nsh: e: not found\nyes\ne='echo e'\nsh: e: not found\n",
  ],
  [
    "fold -w x /etc/passwd; strings -n x /etc/passwd; grep -A x a /etc/passwd; echo $?; grep -m x a /etc/passwd; grep -A1 -c root /etc/passwd; fold -w 80 /etc/passwd | wc -l; expr a + 1; sed 'k' /etc/passwd; sed -n '1,p' /etc/passwd; type nope; echo $?; command -v nope; echo $?",
    "fold: invalid number 'x'\nstrings: invalid number 'x'\ngrep: invalid number 'x'\n2\ngrep: invalid number 'x'\n1\n5\nexpr: non-numeric argument\nsed: unsupported command k\nsed: no address after comma\nnope: not found\n127\n127\n",
  ],
  ["if true; echo", ""],
  ["while true; echo done", ""],
  ["for i in a; echo", ""],
  ['echo "unclosed', ""],
  ["for; do", ""],
  ["(echo", ""],
  ["{ echo", ""],
  ["if true; then echo", ""],
  [
    "[ 1 -eq x ]; echo $?; [ a = ; echo $?; [ -z ]; echo $?; test 1 -foo 2; echo $?; [ 1 2; echo $?; [ 1 2 ]; echo $?; [ a b c d ]; echo $?; [ -f ]; echo $?; [ ! ]; echo $?; [ '(' a ')' ]; echo $?; [ '(' a ]; echo $?; [ -n a -a ]; echo $?; [ '' -eq 1 ]; echo $?; [ 1a -eq 1 ]; /bin/test 1 -eq x; /bin/[ a",
    "sh: x: bad number\n2\nsh: missing ]\n2\n0\nsh: -foo: unknown operand\n2\nsh: missing ]\n2\nsh: 2: unknown operand\n2\nsh: b: unknown operand\n2\n0\n0\n0\nsh: closing paren expected\n2\nsh: argument expected\n2\nsh: bad number\n2\nsh: 1a: bad number\ntest: x: bad number\n[: missing ]\n",
  ],
  ["usleep; usleep x; echo $?", "<usage usleep>\nusleep: invalid number 'x'\n1\n"],
  ["shift 5; echo $?", "1\n"],
  ["grep -e -A /etc/passwd; echo $?", "1\n"],
  [
    "nice; nice -n x; nice -n 5; nice -n 5 echo hi; nice -Q",
    "0\nnice: invalid number 'x'\n<usage nice>\nhi\nnice: invalid option -- 'Q'\n<usage nice>\n",
  ],
  [
    String.raw`expr foo-1.2 : '.*-\(.*\)'; expr abc : 'a\(x\)'; expr abc : ab; expr a+b : a+b; expr aab : 'a\{2\}b'; expr abc : '\(.\).\|x'; expr '(a)' : '(\(.\))'; expr 'a*b' : '*b'; expr '*b' : '*b'; expr 'a|b' : 'a|b'; expr match 'f]2' 'f[]]\([0-9]*\)'; expr abc : x`,
    "1.2\n\n2\n3\n3\na\na\n0\n2\n3\n2\n0\n",
  ],
  ["mkdir d; touch f d/x; echo */ f/ d/* */* nope*/ /etc/passw*/", "d/ f/ d/x d/x nope*/ /etc/passw*/\n"],
  [
    "echo 'echo hi' > ok; sh -n ok; echo $?; sh -n -c 'echo no'; printf 'echo a; set -n; echo b\\necho c' | sh; sh -c 'set -n; exit 3'; echo $?; echo 'echo )' > bad; sh -n bad 2>/dev/null; echo $?",
    "0\na\n0\n2\n",
  ],
  [
    "printf 'a,3\\nb,10\\nc,2\\n' > t; sort -t, -k2,2n -r t; echo; sort -r -n -k 2 -t , t; echo; sort -t, -k2n t; echo; sort -t, -k2,2nr t",
    "c,2\na,3\nb,10\n\nb,10\na,3\nc,2\n\nc,2\na,3\nb,10\n\nb,10\na,3\nc,2\n",
  ],
  [
    "mkdir d; echo a > d/x; echo ba > t; echo a > .h; grep -rn a . | sort; grep -r a d ./d | sort; grep -rl a . | sort; grep -rh a d",
    "./.h:1:a\n./d/x:1:a\n./t:1:ba\n./d/x:a\nd/x:a\n./.h\n./d/x\n./t\na\n",
  ],
  [
    "mkdir d; touch d/x t; find . -regex '.*x'; find . -regex x; find d -regex 'd/[a-z]'; find . -regex '.*\\(x\\|t\\)' | sort",
    "./d/x\nd/x\n./d/x\n./t\n",
  ],
  [
    "echo hi | tee /dev/stderr; echo a | cat /dev/stdin; echo b | cat - /dev/fd/0; ln -sf /dev/stdout lg; echo x > lg; echo q | tee lg | wc -l; ln -s /proc/self/fd/1 l2; echo z > l2; echo w | tee -a /proc/self/fd/2 >/dev/null; echo v | dd of=/dev/stdout 2>/dev/null; echo u | head -n1 /dev/stdin; echo 'echo script' | sh /dev/stdin",
    "hi\nhi\na\nb\nx\n2\nz\nw\nv\nu\nscript\n",
  ],
  [
    "echo x | grep -n x /dev/stdin; echo 'a b' | awk '{print $2}' /dev/stdin; echo s | sed s/s/t/ /dev/stdin; printf 'b\\na\\n' | sort /dev/stdin; echo abc | md5sum /dev/stdin | cut -c1-6",
    "1:x\nb\nt\na\nb\n0bee89\n",
  ],
  [
    "for how in 'route -n' 'route -e' 'netstat -rn'; do $how | sed -n 2p; done; route | sed -n 3p | cut -c1-8",
    "Destination     Gateway         Genmask         Flags Metric Ref    Use Iface\nDestination     Gateway         Genmask         Flags   MSS Window  irtt Iface\nDestination     Gateway         Genmask         Flags   MSS Window  irtt Iface\ndefault \n",
  ],
  [
    "echo a > /dev/full; yes | cat > /dev/full; printf x > /dev/full",
    "sh: write error: No space left on device\ncat: write error: No space left on device\nsh: write error: No space left on device\n",
  ],
  [
    "printf 'nogroup:x:65533:\\n' >>/etc/group; addgroup -S app; addgroup -g 1500 big; addgroup big; addgroup -g 1500 b; mkdir /srv; adduser -S -G app app; adduser -D -u 1234 -h /srv/u u; adduser -D v; adduser -SH w; adduser u big; addgroup v big; addgroup v big; tail -n 4 /etc/passwd; tail -n 5 /etc/group; stat -c '%a %U:%G' /srv/u /home/v /home/app; su v -c id",
    "addgroup: group 'big' in use\naddgroup: gid '1500' in use\napp:x:100:102:Linux User,,,:/home/app:/bin/false\nu:x:1234:1234:Linux User,,,:/srv/u:/bin/sh\nv:x:1000:1000:Linux User,,,:/home/v:/bin/sh\nw:x:102:65533:Linux User,,,:/home/w:/bin/false\nnogroup:x:65533:w\napp:x:102:app\nbig:x:1500:u,v\nu:x:1234:\nv:x:1000:\n2755 u:u\n2755 v:v\n2755 app:app\nuid=1000(v) gid=1000(v) groups=1000(v),1500(big)\n",
  ],
  [
    "adduser; adduser -Q; adduser -D a b c; adduser -D root; adduser -D -u 0 z; adduser -D -u x z; adduser -D -u 99999 z; adduser -D a:b; adduser -D -G no z; adduser no root; adduser root no; addgroup; adduser z; echo $?; su z -c 'adduser -D y'",
    "<usage adduser>\nadduser: invalid option -- 'Q'\n<usage adduser>\n<usage adduser>\nadduser: user 'root' in use\nadduser: uid '0' in use\nadduser: invalid number 'x'\nadduser: number 99999 is not in 0..60000 range\nadduser: illegal character with code 58 at position 1\nadduser: unknown group no\nadduser: unknown user no\nadduser: unknown group no\n<usage addgroup>\nadduser: can't execute passwd, you must set password manually\n1\nadduser: permission denied (are you root?)\n",
  ],
  [
    "umask 027; install -d -m 750 a/b; install -d -o 7 -g 8 c; echo hi >f; install f a; install -m 600 f a/b/g; install -D -m u=r f x/y/z; install -t c f; stat -c '%n %a %u:%g' a a/b a/f a/b/g c c/f x x/y x/y/z; cat x/y/z",
    "a 750 0:0\na/b 750 0:0\na/f 755 0:0\na/b/g 600 0:0\nc 755 7:8\nc/f 755 0:0\nx 755 0:0\nx/y 755 0:0\nx/y/z 455 0:0\nhi\n",
  ],
  [
    "install; install f; install -Q f g; install no g; mkdir a; install a .; touch f; install -m 9 f g; install -o no f g; install -d f/x",
    "<usage install>\n<usage install>\ninstall: invalid option -- 'Q'\n<usage install>\ninstall: can't stat 'no': No such file or directory\ninstall: omitting directory 'a'\ninstall: invalid mode '9'\ninstall: unknown user no\ninstall: can't create directory 'f/x': Not a directory\n",
  ],
];
for (const [script, output] of ROWS) {
  test(`as busybox: ${script}`, async () => {
    const result = await lab.sh(`mkdir /tmp/w; cd /tmp/w; { ${script}; } 2>&1`);
    assert.equal(shortUsage(result.stdout.toString()), output);
  });
}

test("the usage of a program has busybox's form", async () => {
  const { stdout, stderr, exitCode } = await lab.sh("rm -Q");
  const lines = [
    "rm: invalid option -- 'Q'",
    "BusyBox v1.35.0 (kubelab) multi-call binary.",
    "",
    "Usage: rm [-irf] FILE...",
  ];
  assert.deepEqual([stdout.toString(), stderr.toString(), exitCode], ["", `${lines.join("\n")}\n`, 1]);
});

test("busybox lists its programs, and each of them has a usage", async () => {
  const names = (await lab.sh("busybox --list")).stdout.toString().trimEnd().split("\n");
  const without = ["[", "busybox", "echo", "entrypoint", "false", "printf", "test", "true", "vi"];
  const missing = names.filter((name) => usageOf(name) === undefined && !without.includes(name));
  assert.deepEqual(missing, []);
});

/** A log's fate: what happens to /tmp/q each second, and what `tail` prints on both streams. */
const ROTATIONS: readonly (readonly [option: string, steps: readonly string[], output: string])[] = [
  ["-F", ["mv q q.1", "echo 2 > q", "echo 3 >> q"], `1\n${GONE}${REPLACED}2\n3\n`],
  ["-F", ["mv q q.1; echo 2 > q", "echo 3 >> q", "rm q", "echo 4 > q"], `1\n${REPLACED}2\n3\n${GONE}${REPLACED}4\n`],
  ["-F", ["echo 4444 >> q", "echo 3 > q"], "1\n4444\n3\n"],
  ["-F", ["exec 3>> q; mv q q.1; echo 2 >&3", "echo 3 > q"], `1\n${GONE}2\n${REPLACED}3\n`],
  ["-f", ["rm q", "echo 2 > q"], "1\n"],
  ["-f", ["mv q q.1", "echo 2 >> q.1"], "1\n2\n"],
];
for (const [where, folder] of [
  ["in the container's own files", "/tmp"],
  ["in a mount", "/data"],
] as const) {
  for (const [option, steps, output] of ROTATIONS) {
    test(`tail ${option} ${where}: ${steps.join(" | ")}`, async () => {
      const hostPath = newFolder();
      const mounts = [{ containerPath: "/data", hostPath }];
      const command = ["sh", "-c", `cd ${folder}; echo 1 > q; exec tail ${option} q 2>&1`];
      const container = lab.run({ command, mounts });
      const printed = lab.output(container);
      await lab.settle();
      for (const step of steps) {
        await lab.sh(`cd ${folder}; ${step}`, container);
        await lab.clock.advance(1000);
      }
      assert.equal(printed(), output);
      rmSync(hostPath, { recursive: true });
    });
  }
}

test("a socket of a mounted folder is a socket", async () => {
  const hostPath = newFolder();
  const server = createServer().listen(`${hostPath}/s`);
  await once(server, "listening");
  try {
    const container = lab.run({ command: ["sleep", "infinity"], mounts: [{ containerPath: "/m", hostPath }] });
    const script =
      "ls -l m | cut -c1; ls -F m; stat -c %F m/s; find m -type s; test -S m/s && ! test -f m/s && echo S; tar -cf t m; tar -tf t";
    const { stdout, stderr } = await lab.sh(`cd /; ${script}`, container);
    assert.equal(stdout.toString(), "t\ns\ns=\nsocket\nm/s\nS\nm/\n");
    assert.equal(stderr.toString(), "tar: m/s: unknown file type\ntar: error exit delayed from previous errors\n");
  } finally {
    server.close();
    rmSync(hostPath, { recursive: true });
  }
});
