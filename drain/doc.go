// Package drain keeps the holds of a master and derives its mode from them.
//
// A hold is one party's wish that a master be drained or in maintenance. The mode of a service is the strictest wish of
// all holds that concern it; with no hold it is [Ready]. A hold is leaving until its work may begin, and firm from then
// on. Holds are files, and there is no other record of them: commands write them ([Store.Change], [Store.Lift]), a
// daemon reads them ([Store.Read], [Store.Watch]), and neither needs the other to run.
//
// The manual page pmcheck-holds(5) describes the two directories and the format of the
// files, which is stable, and what makes a file or a directory unreadable. Unreadable
// never means ready: such a hold is [Maint] with the code [Unreadable].
//
// The parents of the directories must not belong to the user who runs the
// daemon. The owner of a parent directory can replace the holds directory.
package drain
