// Package drain keeps the holds of a master and derives its mode from them.
//
// A hold is one party's wish that a master be drained or in maintenance. The
// mode of a service is the strictest wish of all holds that concern it; with no
// hold it is [Ready]. Holds are files, and there is no other record of them:
// commands write them ([Store.Put], [Store.Lift]), a daemon reads them
// ([Store.Read], [Store.Watch]), and neither needs the other to run.
//
// # Files
//
// There are two directories, one that survives a reboot and one that does not. A
// file in either is a hold. Its name is the name of the holder, "@" and a service if
// the hold is for one service only, and ".json": upgrade.json, operator@ca.json.
// Holder and service are 1 to 64 of the characters a-z, 0-9, dot, underscore and
// hyphen, starting with a letter or digit. The content is one JSON object:
//
//	{
//	  "mode": "drain",
//	  "leaving": "turn",
//	  "reason": "kernel update",
//	  "by": "alice",
//	  "since": "2026-03-01T09:00:00Z",
//	  "until": "2026-03-01T10:30:00Z"
//	}
//
// Only mode is required, and a field that is null counts as absent. This format is stable.
//
//   - mode: "drain" or "maint".
//   - leaving: "turn" or "spare" while the holder's work has not begun: a balancer is told of
//     the hold only if it can do without the master. Without it, every balancer is told at once.
//   - reason: text for operators. A character that is not printable, such as a line
//     end, is shown as a space.
//   - by: the name of the user who set the hold, which is not verified. It is shown
//     beside the owner of the file, which comes from the kernel.
//   - since: when it was set (RFC 3339). Without it, when the file was written.
//   - until: when it ends by itself (RFC 3339). Without it there is no end.
//
// A script must write a file whose name begins with a dot into the same directory,
// then rename it: a file written in place is unreadable, hence maint, for as long as
// it is incomplete. The daemon's user has to be able to read the file. The manual
// page pmcheck-holds(5) has an example.
//
// # What counts
//
// Of a directory's entries, those whose names end in ".json" and do not begin
// with a dot are holds. All others are ignored.
//
// Unreadable never means ready. An entry that is a hold by its name but cannot
// be read as one counts as [Maint] with the code [Unreadable] and an [Hold.Error]
// in words, for its service if the name contains one, else for every service. Lift
// accepts its name like any other. These are unreadable:
//
//   - names that break the rules, such as Operator.json;
//   - content that is not one JSON object as above. An unknown field is an error, since a
//     misspelt "untill" would otherwise make a hold endless;
//   - files of more than 64 KiB, symbolic links, FIFOs and everything else that is
//     not a regular file;
//   - files that other users than their owner can write, and files whose owner is neither root
//     nor the owner of the directory.
//
// A directory which is missing, cannot be read, or can be written by other users than its
// owner is a hold of the holder [Directory], [Maint] and [Unreadable] as
// well, beside the holds that can be read. Packages create the directories, and Put
// and Lift do so where they are missing. A daemon that starts creates the one that a
// reboot empties ([Store.MakeUntilReboot]).
//
// A [Watcher] also reports that hold for a directory that took the place of another
// after the watcher first saw it: it was moved, restored or created anew, or a file
// system was mounted or unmounted there. Its holds count, but others may be missing.
// [Watcher.Accept] accepts it as it is; the daemon calls it at a reload. The hold also ends
// when the earlier directory comes back. A daemon that starts accepts what it finds.
//
// The parents of the directories must not belong to the user who runs the
// daemon. The owner of a parent directory can replace the holds directory.
//
// # Ends
//
// An end is compared with the wall clock whenever a mode is computed, and the file
// stays. So a hold that has ended counts again if the clock is set back to before its
// end. Put and Lift remove holds a day after their end.
package drain
